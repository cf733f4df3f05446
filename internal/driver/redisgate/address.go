package redisgate

import (
	"fmt"
	"net/url"

	"github.com/redis/go-redis/v9"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/link"
	"github.com/patra-ingest/patra/internal/driver/tlsfile"
)

var errAddress = fmt.Errorf("%w: the address of the shared gate must be rediss://user:password@host:port/database, redis:// on this machine, or unix:///socket", fault.ErrInvalid)

// parseRoute says where the server is and whether the way to it is encrypted (D§5.30).
// The scheme redis:// is the promise of a plain port, so it is not taken for one
// with TLS: the server would answer with something nobody understands.
func parseRoute(address string) (*redis.Options, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errAddress
	}
	if err := exchange.CheckAuthority(u); err != nil {
		return nil, fmt.Errorf("%w: shared gate: %w", fault.ErrInvalid, err)
	}
	secure, others, err := link.ReadOptions(u.RawQuery, "db")
	if err != nil {
		return nil, fmt.Errorf("shared gate: %w", err)
	}
	u.RawQuery = url.Values{}.Encode()
	if db := others["db"]; db != "" {
		u.RawQuery = url.Values{"db": {db}}.Encode()
	}
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, errAddress
	}
	switch {
	case u.Scheme == "unix":
		if secure != (link.Security{}) && secure.TLS != link.Off {
			return nil, fmt.Errorf("%w: shared gate: a socket is a file of this machine and takes no option of TLS", fault.ErrInvalid)
		}
		return o, nil
	case u.Scheme == "rediss" && secure.TLS == link.Off:
		return nil, fmt.Errorf("%w: shared gate: rediss:// is encrypted and tls=off is not: keep one of them", fault.ErrInvalid)
	case u.Scheme == "rediss":
		secure.TLS = link.On
	case secure.TLS == "" && !link.IsLocal(u.Hostname()):
		return nil, fmt.Errorf("%w: shared gate: redis:// would send the password and all else in plain text to another machine: write rediss://, "+
			"with the port on which the server has TLS; only if the network between is safe, add ?tls=off", fault.ErrInvalid)
	}
	if o.TLSConfig, err = tlsfile.Config(secure, u.Hostname()); err != nil {
		return nil, fmt.Errorf("shared gate: %w", err)
	}
	if o.TLSConfig == nil && link.IsLocal(u.Hostname()) {
		o.Dialer = tlsfile.DialLocal
	}
	return o, nil
}
