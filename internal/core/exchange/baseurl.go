package exchange

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// ParseBaseURL applies the safety rules of D§5.22 to http.baseUrl. Its errors
// repeat no user info: an address that cannot be read, or that may hold one, is
// not shown.
func ParseBaseURL(c Config) (*url.URL, error) {
	base, err := url.Parse(c.BaseURL)
	switch {
	case err != nil:
		return nil, errors.New("http.baseUrl: not a URL")
	case base.User != nil:
		return nil, errors.New("http.baseUrl: must not hold a user or password; declare a credential instead")
	case base.Scheme == "http" && !c.AllowHTTP && !c.AllowPrivate && isLocal(base):
		return nil, fmt.Errorf("http.baseUrl: plain http is refused: for a private or local address set http.allowPrivate: true, which allows plain http too%s", shownAs(", here ", base))
	case base.Scheme == "http" && !c.AllowHTTP && !c.AllowPrivate:
		return nil, fmt.Errorf("http.baseUrl: plain http is refused: use https, or set http.allowHttp: true%s", shownAs(" for ", base))
	case base.Scheme != "https" && base.Scheme != "http":
		return nil, fmt.Errorf("http.baseUrl: scheme must be https%s", shownAs(", got ", base))
	case base.Host == "":
		return nil, fmt.Errorf("http.baseUrl: no host%s", shownAs(" in ", base))
	case CheckAuthority(base) != nil:
		return nil, fmt.Errorf("http.baseUrl: %w", CheckAuthority(base))
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("http.baseUrl: must not hold a query or fragment; use request.query")
	}
	return base, nil
}

// isLocal reports an address that http.allowPrivate is about, as far as its spelling
// tells: this machine or a private network. A name that leads there is found out when it
// is dialled.
func isLocal(address *url.URL) bool {
	name := strings.ToLower(strings.TrimSuffix(address.Hostname(), "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && (ip.Unmap().IsLoopback() || ip.Unmap().IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified())
}

// shownAs returns the address behind some words, or nothing where a user may hide in
// it: u:password@host without a scheme has none by the rules of addresses.
func shownAs(words string, base *url.URL) string {
	shown := *base
	shown.RawQuery, shown.Fragment, shown.RawFragment = "", "", ""
	text := shown.String()
	if strings.Contains(text, "@") || SecretInAddress(text) {
		return ""
	}
	return fmt.Sprintf("%s%q", words, text)
}

// CanonicalBaseURL returns the one spelling of an address, so that another way to
// write it changes no fingerprint: the host in lower case, and no slash at the
// end. What ParseBaseURL refuses stays as it is.
func CanonicalBaseURL(address string) string {
	base, err := ParseBaseURL(Config{BaseURL: address, AllowHTTP: true})
	if err != nil || base.Opaque != "" {
		return address
	}
	base.Host = strings.ToLower(base.Host)
	base.Path, base.RawPath = strings.TrimSuffix(base.Path, "/"), strings.TrimSuffix(base.RawPath, "/")
	return base.String()
}
