package exchange

import (
	"errors"
	"fmt"
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
	case base.Scheme == "http" && !c.AllowHTTP && !c.AllowPrivate:
		return nil, fmt.Errorf("http.baseUrl: plain http is refused: use https, or set http.allowHttp: true%s", shownAs(" for ", base))
	case base.Scheme != "https" && base.Scheme != "http":
		return nil, fmt.Errorf("http.baseUrl: scheme must be https%s", shownAs(", got ", base))
	case base.Host == "":
		return nil, fmt.Errorf("http.baseUrl: no host%s", shownAs(" in ", base))
	case CheckPort(base) != nil:
		return nil, fmt.Errorf("http.baseUrl: %w", CheckPort(base))
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("http.baseUrl: must not hold a query or fragment; use request.query")
	}
	return base, nil
}

// shownAs is the address behind some words, or nothing where a user may hide in
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

// CanonicalBaseURL is the one spelling of an address, so that another way to
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
