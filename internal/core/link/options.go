package link

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/spelling"
)

// ReadOptions reads what stands behind the question mark of an address. Besides
// those of encryption an address may have the given ones, which are returned. An
// option that is not known is refused by its name: one that did nothing would
// be believed, as tls=true once was. Values are not repeated in errors (I12).
func ReadOptions(query string, others ...string) (s Security, rest map[string]string, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return s, nil, fmt.Errorf("%w: the options of the address cannot be read: write name=value, with & between them", fault.ErrInvalid)
	}
	own := map[string]*string{"tls": &s.TLS, "ca": &s.CA, "cert": &s.Cert, "key": &s.Key, "serverName": &s.ServerName}
	known := slices.Clone(others)
	for name := range own {
		known = append(known, name)
	}
	slices.Sort(known)
	rest = map[string]string{}
	for name, given := range values {
		switch {
		case !slices.Contains(known, name):
			return s, nil, unknownOption(name, known)
		case len(given) > 1:
			return s, nil, fmt.Errorf("%w: option %s stands in the address twice", fault.ErrInvalid, name)
		case given[0] == "":
			return s, nil, fmt.Errorf("%w: option %s of the address has no value", fault.ErrInvalid, name)
		}
		if field := own[name]; field != nil {
			*field = given[0]
		} else {
			rest[name] = given[0]
		}
	}
	if s.TLS == "true" { // as other programs write it; off has one spelling only
		s.TLS = On
	}
	return s, rest, s.Check()
}

func unknownOption(name string, known []string) error {
	hint := ""
	if near := nearestOption(name, known); near != "" {
		hint = fmt.Sprintf(": did you mean %s?", near)
	}
	return fmt.Errorf("%w: option %.40q of the address is not known%s (known: %s)", fault.ErrInvalid, name, hint, strings.Join(known, ", "))
}

// nearestOption also knows how other programs call TLS.
func nearestOption(name string, known []string) string {
	word := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
	for _, other := range [][2]string{{"sslca", "ca"}, {"sslrootcert", "ca"}, {"sslcert", "cert"}, {"sslkey", "key"}, {"sslmode", "tls"}, {"ssl", "tls"}, {"skipverify", "ca"}, {"unixsocket", "socket"}} {
		if word == other[0] && slices.Contains(known, other[1]) {
			return other[1]
		}
	}
	return spelling.Nearest(name, known)
}
