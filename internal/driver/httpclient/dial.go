package httpclient

import (
	"net/netip"
	"syscall"

	"github.com/patra-ingest/patra/internal/core/fault"
)

type controlFunc func(network, address string, c syscall.RawConn) error

// shared is the carrier-grade NAT range, private in all but name.
var shared = netip.MustParsePrefix("100.64.0.0/10")

// refusePrivate looks at the address that is really dialled, after the name was
// resolved: a name that changes its mind between check and dial gains nothing.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fault.Newf(fault.Refused, "cannot read the address %q", address)
	}
	ip := target.Addr().Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || shared.Contains(ip) {
		return fault.Newf(fault.Refused, "%s is a private or local address; set http.allowPrivate for this source if that is intended", ip)
	}
	return nil
}
