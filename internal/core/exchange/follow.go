package exchange

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// Follow returns the address of the next page as an answer names it, relative to the
// request that was sent. An answer must not lead us, and our credentials,
// elsewhere (D§5.22): scheme, host and port are those of http.baseUrl, and the
// path lies below it. Refusals repeat nothing of the address: it may hold a key.
func (r *Renderer) Follow(sent *url.URL, next string) (*url.URL, error) {
	return r.follow("the address of the next page", sent, next)
}

// FollowFile does so for the address of a file that a listing names. A source whose files are
// on another host than its listing gives the endpoint of the files its own http.baseUrl.
func (r *Renderer) FollowFile(sent *url.URL, address string) (*url.URL, error) {
	return r.follow("the address of a file", sent, address)
}

func (r *Renderer) follow(what string, sent *url.URL, next string) (*url.URL, error) {
	to, err := resolveAddress(sent, next)
	if err == nil {
		err = sameOrigin(r.base, to)
	}
	if err == nil {
		err = checkBelow(r.base.Path, to)
	}
	if err != nil {
		return nil, refuseAddress(what, err)
	}
	return to, nil
}

// checkBelow refuses an address outside of the path of http.baseUrl: what else a
// server has, another tenant's part of it for one, is not this source's.
func checkBelow(base string, to *url.URL) error {
	below := strings.TrimSuffix(base, "/") + "/"
	if strings.HasPrefix(to.Path, below) || to.Path == strings.TrimSuffix(below, "/") {
		return nil
	}
	return fmt.Errorf("leads out of %s, the path of http.baseUrl", below)
}

// maxRedirects is how often one request is sent on.
const maxRedirects = 3

// Redirected returns the request an answer sends us on to, nil if it does not, or if
// the source does not allow it. Only a GET without a body is sent on, to the same origin and below
// the path of http.baseUrl or to a host that the source names, and not for ever; hop counts the
// redirects before this one.
func Redirected(r *Request, answer *Response, hop int) (*Request, error) {
	location := answer.Header.Get("Location")
	if !r.followsRedirects() || r.Method != "GET" || len(r.Body) > 0 || location == "" || !slices.Contains([]int{301, 302, 303, 307, 308}, answer.Status) {
		return nil, nil
	}
	if hop >= maxRedirects {
		return nil, refuseAddress("a redirect", fmt.Errorf("follows %d others", maxRedirects))
	}
	to, err := resolveAddress(r.URL, location)
	if err == nil && r.namesHost(to) {
		return r.withoutSecrets(to), nil
	}
	if err == nil {
		if err = sameOrigin(r.URL, to); err != nil {
			err = fmt.Errorf("%w; where that is right, name the host in http.redirectHosts", err)
		}
	}
	if err == nil {
		err = checkBelow(r.BasePath, to)
	}
	if err != nil {
		return nil, refuseAddress("a redirect", err)
	}
	next := *r
	next.URL = to
	return &next, nil
}

func (r *Request) followsRedirects() bool { return r.AllowRedirects || len(r.RedirectHosts) > 0 }

// namesHost reports whether the source lets us be sent on to an address of another host.
func (r *Request) namesHost(to *url.URL) bool {
	if to.User != nil || CheckAuthority(to) != nil || to.Scheme != "https" && !(to.Scheme == "http" && r.AllowHTTP) {
		return false
	}
	return slices.ContainsFunc(r.RedirectHosts, func(host string) bool {
		named := &url.URL{Scheme: to.Scheme, Host: host}
		return hostAndPort(named) == hostAndPort(to)
	})
}

// sentAnywhere are the headers that another host is sent too. None of them is about who asks.
var sentAnywhere = []string{"Accept", "User-Agent", "Range", "If-Range", "If-None-Match", "If-Modified-Since"}

// withoutSecrets returns the request for an address of another host: it has no credential, and none of the headers of the source.
// From there it may be sent on to other hosts that the source names, and nowhere else.
func (r *Request) withoutSecrets(to *url.URL) *Request {
	next := *r
	next.URL, next.Header, next.BasePath = to, Header{}, ""
	for _, name := range sentAnywhere {
		if value := r.Header.Get(name); value != "" {
			next.Header.Set(name, value)
		}
	}
	next.Credential, next.CredentialRequired, next.Further, next.Pool, next.AllowRedirects, next.NoCorrelation = Credential{}, false, nil, nil, false, true
	return &next
}

// CheckRedirectHosts refuses what is no host.
func (c Config) CheckRedirectHosts() error {
	for _, host := range c.RedirectHosts {
		u, err := url.Parse("https://" + host)
		if err != nil || host == "" || u.Host != host || u.Hostname() == "" || strings.Contains(host, "*") || u.User != nil || CheckAuthority(u) != nil {
			return fmt.Errorf("http.redirectHosts: %q is no host: write a name such as files.example.org, with :port if it is not 443", host)
		}
	}
	return nil
}

// refuseAddress returns the fault of an address that must not be followed. A person
// has to act: asking again leads to the same place.
func refuseAddress(what string, err error) error {
	f := fault.New(fault.Refused, fmt.Errorf("%s %w", what, err))
	f.Level = fault.Fatal
	return f
}

// longestAddress is far above what servers take.
const longestAddress = 16 << 10

// resolveAddress reads an address a server wrote. Readers of addresses disagree about
// backslashes, control characters and climbing paths, so none of them may be
// there.
func resolveAddress(from *url.URL, text string) (*url.URL, error) {
	text = strings.ReplaceAll(strings.Trim(text, " "), " ", "%20") // some servers forget to
	if len(text) > longestAddress {
		return nil, fmt.Errorf("is longer than %d bytes", longestAddress)
	}
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\\' || c == '\ufffd' }) {
		return nil, errors.New("has characters that no address may have")
	}
	to, err := from.Parse(text)
	if err != nil || to.Opaque != "" {
		return nil, errors.New("cannot be read")
	}
	if slices.Contains(strings.Split(strings.ReplaceAll(to.Path, `\`, "/"), "/"), "..") {
		return nil, errors.New("climbs up its path")
	}
	to.Fragment, to.RawFragment = "", "" // never sent
	return to, nil
}

func sameOrigin(base, to *url.URL) error {
	if to.User != nil {
		return errors.New("names a user")
	}
	if err := CheckAuthority(to); err != nil {
		return err
	}
	if to.Scheme != base.Scheme || hostAndPort(to) != hostAndPort(base) {
		return fmt.Errorf("leads away from %s://%s", base.Scheme, base.Host)
	}
	return nil
}

func hostAndPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + " " + port
}
