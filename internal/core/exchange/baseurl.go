package exchange

import (
	"fmt"
	"net/url"
)

// ParseBaseURL applies the safety rules of D§5.22 to http.baseUrl.
func ParseBaseURL(c Config) (*url.URL, error) {
	base, err := url.Parse(c.BaseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("http.baseUrl: not a URL: %q", c.BaseURL)
	case base.Scheme == "http" && !c.AllowHTTP && !c.AllowPrivate:
		return nil, fmt.Errorf("http.baseUrl: plain http is refused: use https, or set http.allowHttp: true for %q", c.BaseURL)
	case base.Scheme != "https" && base.Scheme != "http":
		return nil, fmt.Errorf("http.baseUrl: scheme must be https, got %q", c.BaseURL)
	case base.Host == "":
		return nil, fmt.Errorf("http.baseUrl: no host in %q", c.BaseURL)
	case base.User != nil:
		return nil, fmt.Errorf("http.baseUrl: must not hold a user or password; declare a credential instead")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("http.baseUrl: must not hold a query or fragment; use request.query")
	}
	return base, nil
}
