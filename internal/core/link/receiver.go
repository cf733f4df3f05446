package link

import (
	"errors"
	"net/netip"
	"net/url"

	"github.com/patra-ingest/patra/internal/core/exchange"
)

// CheckReceiver says why messages must not be posted to an address, or nil. The address
// is never repeated: it may hold a secret.
func CheckReceiver(address string, allowPrivate bool) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return errors.New("expected an address such as https://receiver.example/events")
	case exchange.CheckAuthority(u) != nil:
		return exchange.CheckAuthority(u)
	case u.User != nil:
		return errHoldsPassword
	case u.Scheme != "https" && (u.Scheme != "http" || !IsLocal(u.Hostname())):
		return errNotHTTPS
	case !allowPrivate && isPrivate(u.Hostname()):
		return errPrivate
	}
	return nil
}

var (
	errHoldsPassword = errors.New("must not hold a password: receivers know us by the signature")
	errNotHTTPS      = errors.New("must be https; http is allowed for this machine only")
	errPrivate       = errors.New("leads to this machine or its network; set allowPrivate: true if that is intended")
)

// isPrivate judges a host by what it is called. Where a name leads is known when
// it is dialled, and judged then.
func isPrivate(host string) bool {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return IsLocal(host)
	}
	return !ip.IsGlobalUnicast() || ip.Unmap().IsPrivate()
}
