package exchange

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ErrPlainHTTP: secrets would travel in the clear.
var ErrPlainHTTP = errors.New("plain http is refused: use https, or set http.allowHttp: true")

// TokenEndpoint returns where tokens are asked for, under the rules of D§5.22:
// at the origin of the source if the credential gives a path, else at the
// address that the credential itself spells out. No answer of an upstream can
// name another. Errors do not repeat the address: it may hold a secret.
func TokenEndpoint(origin *url.URL, allowHTTP bool, address string) (*url.URL, error) {
	to, err := url.Parse(address)
	if err != nil || strings.ContainsAny(address, "\\ \t") {
		return nil, errors.New("is neither an address nor a path")
	}
	if strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//") {
		to.Scheme, to.Host = origin.Scheme, origin.Host
	}
	switch {
	case to.User != nil:
		return nil, errors.New("must not hold a user or password")
	case to.Fragment != "" || strings.Contains(address, "#"):
		return nil, errors.New("must not hold a fragment")
	case to.Scheme != "https" && to.Scheme != "http", to.Host == "":
		return nil, errors.New("must be an https address, or a path that starts with one slash")
	case CheckAuthority(to) != nil:
		return nil, CheckAuthority(to)
	case to.Scheme == "http" && !allowHTTP && isLocal(to):
		return nil, fmt.Errorf("%w, or for a private or local address http.allowPrivate: true", ErrPlainHTTP)
	case to.Scheme == "http" && !allowHTTP:
		return nil, ErrPlainHTTP
	}
	return to, nil
}
