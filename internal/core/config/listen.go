package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// Listen is where `patra serve` shows its metrics and its health.
type Listen struct {
	Address      string            `json:"address,omitempty" doc:"HOST:PORT, such as 127.0.0.1:9464; without it nowhere"`
	Cert         string            `json:"cert,omitempty" doc:"file with the TLS certificate for this address; required unless only this machine can reach it"`
	Key          string            `json:"key,omitempty" doc:"file with its key"`
	Token        secret.Ref        `json:"token,omitzero" doc:"reference to the bearer token for /metrics; required unless only this machine can reach it"`
	MetricsEvery duration.Duration `json:"metricsEvery,omitzero" doc:"how often stored rows are read for the metrics; without it PT30S"`
}

func (c *checker) listen(l Listen) {
	if l.Address == "" {
		if l.Cert+l.Key != "" || !l.Token.IsZero() {
			c.report("listen", "a certificate or a token is given, but no address to listen on", "address: 127.0.0.1:9464")
		}
	} else if _, port, err := net.SplitHostPort(l.Address); err != nil {
		c.report("listen.address", fmt.Sprintf("%q is not HOST:PORT", l.Address), "such as 127.0.0.1:9464")
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		c.report("listen.address", fmt.Sprintf("port %.12s: ports are numbers up to 65535", port), "such as 127.0.0.1:9464")
	}
	for key, path := range map[string]string{"listen.cert": l.Cert, "listen.key": l.Key} {
		if path != "" && !strings.HasPrefix(path, "/") && !isDrive(path) {
			c.report(key, fmt.Sprintf("%q is not an absolute path", path), "a relative path would depend on the folder that patra is started in")
		}
	}
}
