// Package trust knows what a source, an events file or a database that a stranger
// may have written wants of this machine, and what the installation agreed to
// (D§5.30): which variable, file or command output may be sent to which host.
//
// It decides and never reads: no variable, no file, no table. What was agreed to
// must come from a place that a stranger cannot hand over together with a file.
package trust

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// Use is a secret of this machine, or what is stored of a source, and the host it goes to.
// Consent is given per use: whoever agreed that a key goes to one host did not agree to another.
type Use struct {
	Ref  Ref    `json:"reference"`
	Host string `json:"host"`
}

// Proxy stands for the host of http.proxy: its value is sent nowhere, it says
// through whom requests go. No host can be called like that.
const Proxy = "(proxy)"

// replacing stands before a host that may replace what a file holds: whoever agreed that a
// token goes there did not agree that the host writes into the file. No host can be called
// like that.
const replacing = "(replaces it) "

// ReplacedBy returns how a host is named that replaces a secret of this machine.
func ReplacedBy(host string) string { return replacing + host }

// HostOf returns how a host is named in a use: in lower case, and with the port
// unless it is that of https. A key that may go to a host encrypted may not
// therefore go there in the clear: an encrypted port of its own has its scheme.
func HostOf(u *url.URL) string {
	host, port := strings.TrimSuffix(lowerASCII(u.Hostname()), "."), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "nats": "4222", "tls": "4222"}[u.Scheme]
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == "" || port == "443" && u.Scheme == "https" {
		return host
	}
	if u.Scheme == "https" || u.Scheme == "tls" {
		return u.Scheme + "://" + host + ":" + port
	}
	return host + ":" + port
}

// lowerASCII folds the letters that are the same host to everybody, and no others: İ
// in lower case is i, and another host.
func lowerASCII(host string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, host)
}

// Of lists what a snapshot wants, its second step included, without repetitions.
func Of(s spec.Snapshot) []Use {
	var out []Use
	for at := &s; at != nil; at = at.Detail {
		out = append(out, usesOf(at.HTTP, exchange.Credential{})...)
		for _, c := range at.AllCredentials() {
			out = append(out, usesOf(at.HTTP, c)...)
		}
		out = append(out, recordsSent(s, at.HTTP)...)
	}
	return Sorted(out)
}

// recordsSent names the records of another source whose values a snapshot sends to a host (partitions.NAME.from).
func recordsSent(s spec.Snapshot, http exchange.Config) []Use {
	origin, err := url.Parse(http.BaseURL)
	if err != nil || !s.TakesForeignRecords() {
		return nil
	}
	return []Use{{OfRecords(s.Parent.String()), HostOf(origin)}}
}

// usesOf finds where each secret of a credential goes. An address that cannot be
// read was refused when the source was checked; nothing is ever sent there.
func usesOf(http exchange.Config, c exchange.Credential) (out []Use) {
	if !http.Proxy.IsZero() {
		out = append(out, Use{OfSecret(http.Proxy), Proxy})
	}
	origin, err := url.Parse(http.BaseURL)
	if err != nil {
		return out
	}
	to := origin
	if _, address := c.TokenAddress(); address != "" {
		if to, err = exchange.TokenEndpoint(origin, true, address); err != nil {
			return out
		}
	}
	if c.Rotates {
		out = append(out, Use{OfSecret(c.RefreshToken), ReplacedBy(HostOf(to))})
	}
	for _, ref := range c.References() {
		out = append(out, Use{OfSecret(ref), HostOf(to)})
		if HostOf(to) != HostOf(origin) { // what the token host gives for it goes there
			out = append(out, Use{OfSecret(ref), HostOf(origin)})
		}
	}
	return out
}

// Sorted puts uses in order, each once.
func Sorted(uses []Use) []Use {
	out := slices.Clone(uses)
	slices.SortFunc(out, func(a, b Use) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Ref.String(), b.Ref.String()))
	})
	return slices.Compact(out)
}

// String says in words what would happen.
func (u Use) String() string {
	scheme, name := u.Ref.Split()
	if host, replaces := strings.CutPrefix(u.Host, replacing); replaces {
		return "let " + host + " replace what the file " + name + " holds"
	}
	switch {
	case u.Host == Proxy && scheme == "exec":
		return "run `" + name + "` and send requests through the proxy it prints"
	case u.Host == Proxy:
		return "send requests through the proxy that " + u.Ref.String() + " names"
	case scheme == "exec":
		return "run `" + name + "` and send what it prints to " + u.Host
	case u.Ref.IsRecords():
		return "send what is stored of " + name + " to " + u.Host
	case scheme == "file":
		return "read the file " + name + " and send what it holds to " + u.Host
	}
	return "send " + u.Ref.String() + " to " + u.Host
}

// HostNamed returns a host as a person writes it, in the spelling of uses.
func HostNamed(text string) string { return lowerASCII(strings.TrimSpace(text)) }
