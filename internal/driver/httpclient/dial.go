package httpclient

import (
	"net/netip"
	"syscall"

	"github.com/patra-ingest/patra/internal/core/fault"
)

type controlFunc func(network, address string, c syscall.RawConn) error

// refusePrivate does what PublicOnly does for sources.
func refusePrivate(network, address string, c syscall.RawConn) error {
	return PublicOnly("set http.allowPrivate for this source")(network, address, c)
}

// PublicOnly looks at the address that is really dialled, after the name was
// resolved, and at each one of several: a name that changes its mind between
// check and dial gains nothing. It is the Control of a net.Dialer; allow is what a
// person does to reach a private address all the same.
func PublicOnly(allow string) func(network, address string, c syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil {
			return fault.Newf(fault.Refused, "cannot read the address %q", address)
		}
		if ip := target.Addr(); !isPublic(ip) {
			return fault.Newf(fault.Refused, "%s is a private or local address; %s if that is intended", ip.Unmap(), allow)
		}
		return nil
	}
}

// Ranges that are not the public internet, besides those netip knows: the
// special-purpose registries of IANA. A tunnel into IPv4 is refused whatever it
// leads to.
var (
	special4 = parsePrefixes(
		"0.0.0.0/8",        // this host
		"100.64.0.0/10",    // carrier-grade NAT, private in all but name
		"168.63.129.16/32", // metadata of one cloud; the others use ranges named here
		"192.0.0.0/24",     // protocol assignments
		"192.0.2.0/24",     // documentation
		"192.88.99.0/24",   // 6to4 relays
		"198.18.0.0/15",    // benchmarks
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"240.0.0.0/4",      // reserved, broadcast included
	)
	special6 = parsePrefixes(
		"2001::/32",     // Teredo
		"2001:10::/28",  // ORCHID
		"2001:20::/28",  // ORCHIDv2
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4
		"3fff::/20",     // documentation
	)
	public6 = netip.MustParsePrefix("2000::/3") // all that was ever given out
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
)

func parsePrefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

func isPublic(ip netip.Addr) bool {
	ip = ip.Unmap()
	if nat64.Contains(ip) {
		// How hosts without IPv4 reach it: what counts is where it comes out.
		long := ip.As16()
		ip = netip.AddrFrom4([4]byte(long[12:]))
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	if ip.Is4() {
		return !isWithin(special4, ip)
	}
	return public6.Contains(ip) && !isWithin(special6, ip) // with a zone it is in no range
}

func isWithin(ranges []netip.Prefix, ip netip.Addr) bool {
	for _, r := range ranges {
		if r.Contains(ip) {
			return true
		}
	}
	return false
}
