package entrance

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// LocalHosts are the names under which a machine reaches itself.
func LocalHosts() []string { return []string{"localhost", "127.0.0.1", "::1"} }

// cleanHost is the name of a host without its port, as names are compared. What is no host
// is empty, and on no list.
func cleanHost(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil {
		if !isPort(port) {
			return ""
		}
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	if strings.ContainsFunc(host, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	}) {
		return ""
	}
	return host
}

func isPort(text string) bool {
	return len(text) <= 5 && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

// checkPeer finds out where a request comes from. What proxies say is believed only of
// those that were named (R14); where some are, nobody else may send plain requests from
// another machine.
func (e *Entrance) checkPeer(r *http.Request, v *visit) *refusal {
	v.secure = e.settings.TLS || r.TLS != nil
	peer, local := peerOf(r.RemoteAddr)
	v.address = peerText(peer)
	if !peer.IsValid() || !e.isProxy(peer) {
		if len(e.settings.Proxies) > 0 && !local && !v.secure {
			return refuse(http.StatusForbidden, "NOT_THE_PROXY", "requests without TLS are taken from the named proxies only", "ask through the proxy")
		}
		return nil
	}
	from, through := e.forwardedFor(r.Header)
	if !through {
		return nil // the proxy itself, such as its check of health
	}
	v.address = peerText(from)
	v.secure = v.secure || strings.EqualFold(lastOf(r.Header.Values("X-Forwarded-Proto")), "https")
	if host := lastOf(r.Header.Values("X-Forwarded-Host")); host != "" {
		r.Host = host
	}
	if !v.secure && !local {
		return refuse(http.StatusForbidden, "NOT_ENCRYPTED", "the proxy does not say that the connection to it is encrypted", "let it set X-Forwarded-Proto: https")
	}
	return nil
}

// peerOf reads the address of a peer. The peers of a unix socket have none and are local.
func peerOf(text string) (peer netip.Addr, local bool) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		peer = at.Addr().Unmap().WithZone("")
		return peer, peer.IsLoopback()
	}
	return netip.Addr{}, true
}

func peerText(peer netip.Addr) string {
	if !peer.IsValid() {
		return "local"
	}
	return peer.String()
}

func (e *Entrance) isProxy(peer netip.Addr) bool {
	return slices.ContainsFunc(e.settings.Proxies, func(p netip.Prefix) bool { return p.Contains(peer) })
}

// forwardedFor is the last address of the list that is not a proxy of ours: what stands
// before it, whoever asks may have written.
func (e *Entrance) forwardedFor(h http.Header) (from netip.Addr, found bool) {
	hops := strings.Split(strings.Join(h.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		addr, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return from, found
		}
		from, found = addr.Unmap().WithZone(""), true
		if !e.isProxy(from) {
			return from, true
		}
	}
	return from, found
}

// lastOf is the last part of a header's list: the one that the nearest proxy wrote.
func lastOf(values []string) string {
	parts := strings.Split(strings.Join(values, ","), ",")
	return strings.TrimSpace(parts[len(parts)-1])
}
