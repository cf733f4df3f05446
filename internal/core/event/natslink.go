package event

import (
	"net/url"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/link"
)

// Hosts returns the servers of a stream.
func (n NATS) Hosts() (out []string) {
	for server := range strings.SplitSeq(n.URL, ",") {
		if u, err := url.Parse(strings.TrimSpace(server)); err == nil && u.Host != "" {
			out = append(out, u.Hostname())
		}
	}
	return out
}

// Encrypts reports whether the connection to the servers is encrypted. One that is
// elsewhere is enough: the client may go from each of them to each (D§5.30).
func (n NATS) Encrypts() bool {
	if strings.Contains(n.URL, "tls://") {
		return true
	}
	for _, host := range n.Hosts() {
		if n.Security.Encrypts(host) {
			return true
		}
	}
	return false
}

// Exposed returns the first server to which events, and the token, go in plain text
// over a network; "" if there is none.
func (n NATS) Exposed() string {
	for _, host := range n.Hosts() {
		if !n.Encrypts() && !link.IsLocal(host) {
			return host
		}
	}
	return ""
}

func (n NATS) checkSecurity(bad func(string, ...any)) {
	if err := n.Security.Check(); err != nil {
		bad("nats: %s", strings.TrimPrefix(err.Error(), fault.ErrInvalid.Error()+": "))
	}
	if n.TLS == link.Off && strings.Contains(n.URL, "tls://") {
		bad("nats: tls:// is encrypted and tls: off is not: keep one of them")
	}
}
