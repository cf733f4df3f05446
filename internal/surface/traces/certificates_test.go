package traces

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/testkit/otlp"
	"github.com/patra-ingest/patra/internal/testkit/wiretap"
)

const (
	endpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"
	caVariable       = "OTEL_EXPORTER_OTLP_CERTIFICATE"
	certVariable     = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"
	keyVariable      = "OTEL_EXPORTER_OTLP_CLIENT_KEY"
)

// A collector with an authority of its own that wants to know who we are gets its spans from
// whoever has both, and from nobody else.
func TestSpansGoToACollectorWithItsOwnAuthority(t *testing.T) {
	authority := wiretap.NewAuthority(t)
	cert, key := authority.Issue("collector", "127.0.0.1")
	to := otlp.StartTLS(t, serverOf(t, authority.File, cert, key))
	clientCert, clientKey := authority.Issue("patra", "client.example")
	strangerCert, strangerKey := wiretap.NewAuthority(t).Issue("stranger", "client.example")
	for name, c := range map[string]struct {
		variables map[string]string
		arrives   bool
	}{
		"all that is needed":      {map[string]string{caVariable: authority.File, certVariable: clientCert, keyVariable: clientKey}, true},
		"for traces alone":        {map[string]string{caVariable: "/nowhere", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": authority.File, certVariable: clientCert, keyVariable: clientKey}, true},
		"no authority":            {map[string]string{certVariable: clientCert, keyVariable: clientKey}, false},
		"no client":               {map[string]string{caVariable: authority.File}, false},
		"a client it knows not":   {map[string]string{caVariable: authority.File, certVariable: strangerCert, keyVariable: strangerKey}, false},
		"another authority":       {map[string]string{caVariable: wiretap.NewAuthority(t).File, certVariable: clientCert, keyVariable: clientKey}, false},
		"the authority of nobody": {nil, false},
	} {
		variables := map[string]string{endpointVariable: to.URL}
		for name, value := range c.variables {
			variables[name] = value
		}
		before := len(to.Named(span.Trigger))
		o := open(t, variables)
		_, trigger := span.BeginRoot(t.Context(), o.Recorder(), span.Beginning{Name: span.Trigger})
		trigger.End(nil)
		o.Close()
		if arrived := len(to.Named(span.Trigger)) > before; arrived != c.arrives {
			t.Errorf("%s: arrived %v, %v", name, arrived, o.warned)
		}
		if told := strings.Contains(strings.Join(o.warned, "\n"), "did not reach the collector"); told == c.arrives {
			t.Errorf("%s: %v", name, o.warned)
		}
	}
}

func serverOf(t *testing.T, authority, cert, key string) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(authority)
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(text)
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert}
}

// With certificates that cannot be used nothing is recorded, and the variable is named: spans
// must not go to whoever the system trusts instead.
func TestCertificatesThatCannotBeUsed(t *testing.T) {
	authority := wiretap.NewAuthority(t)
	cert, key := authority.Issue("patra", "client.example")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		variables map[string]string
		want      string
	}{
		{map[string]string{caVariable: "/nowhere/ca.pem"}, caVariable + ": open /nowhere/ca.pem"},
		{map[string]string{caVariable: empty}, "holds no certificate"},
		{map[string]string{certVariable: cert}, "needs both"},
		{map[string]string{keyVariable: key}, "needs both"},
		{map[string]string{certVariable: cert, keyVariable: empty}, certVariable + " and " + keyVariable},
	} {
		c.variables[endpointVariable] = "https://127.0.0.1:4318"
		o := open(t, c.variables)
		if said := strings.Join(o.warned, "\n"); o.Recorder() != nil || len(o.warned) != 1 || !strings.Contains(said, c.want) || !strings.HasSuffix(said, "no spans are recorded") {
			t.Errorf("%v: %s", c.variables, said)
		}
	}
}
