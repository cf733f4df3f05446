package mysql

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/link"
	"github.com/patra-ingest/patra/internal/driver/tlsfile"
)

var errAddress = fmt.Errorf("%w: database address must be mysql://user:password@host:port/database", fault.ErrInvalid)

// parseAddress reads an address. Its errors never repeat it: it may hold a password.
func parseAddress(address string) (*mysql.Config, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "mysql" || strings.Trim(u.Path, "/") == "" {
		return nil, errAddress
	}
	if err := exchange.CheckAuthority(u); err != nil {
		return nil, fmt.Errorf("%w: database address: %w", fault.ErrInvalid, err)
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = strings.Trim(u.Path, "/")
	config.Collation = "utf8mb4_bin"
	config.ClientFoundRows = true   // compare-and-set counts matched rows, not changed ones
	config.InterpolateParams = true // a question asked once takes one round trip, not one more to prepare it
	config.Timeout = 10 * time.Second
	config.ReadTimeout = 2 * time.Minute
	config.WriteTimeout = 2 * time.Minute
	config.MaxAllowedPacket = 0 // ask the server
	config.Params = map[string]string{}
	for name, value := range session {
		if name != "collation_connection" {
			config.Params[name] = value
		}
	}
	config.Logger = &mysql.NopLogger{} // errors are returned; the driver's own lines would go to stderr
	return config, setRoute(config, u)
}

// setRoute says where the server is and whether the way to it is encrypted (D§5.30).
func setRoute(config *mysql.Config, u *url.URL) error {
	secure, others, err := link.ReadOptions(u.RawQuery, "socket")
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if path := others["socket"]; path != "" {
		if !link.IsLocal(u.Hostname()) || secure != (link.Security{}) && secure.TLS != link.Off {
			return fmt.Errorf("%w: database: socket is a file of this machine: leave out the host, or say localhost, and no option of TLS", fault.ErrInvalid)
		}
		config.Net, config.Addr = "unix", path
		return nil
	}
	if u.Host == "" {
		return errAddress
	}
	config.Net, config.Addr = "tcp", u.Host
	if u.Port() == "" {
		config.Addr += ":3306"
	}
	if config.TLS, err = tlsfile.Config(secure, u.Hostname()); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if config.TLS == nil && link.IsLocal(u.Hostname()) {
		config.DialFunc = tlsfile.DialLocal
	}
	return nil
}

// explainMistrust returns why a server is not given our password, with what to do
// about it; "" for any other error. Nothing has been sent to it then.
func explainMistrust(err error) string {
	if errors.Is(err, mysql.ErrNoTLS) {
		return "the server does not offer TLS, so nothing was sent to it: turn TLS on there (ssl_cert, ssl_key); " +
			"only if the network between is safe, add tls=off to the address"
	}
	var verify *tls.CertificateVerificationError
	var line *net.OpError
	advice := tlsfile.Advice(err)
	if advice == "" || errors.As(err, &line) && line.Op == "dial" {
		return ""
	}
	if errors.As(err, &verify) {
		return fmt.Sprintf("the server is not who the address says, so nothing was sent to it: %s: %s", verify.Err, advice)
	}
	return fmt.Sprintf("no encrypted connection: %s: %s", err, advice)
}
