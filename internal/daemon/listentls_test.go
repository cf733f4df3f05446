package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/wiretap"
)

// With a certificate the listener speaks TLS and nothing else, and the token is read
// from its reference.
func TestListenerSpeaksTLS(t *testing.T) {
	const token = "a-token-of-some-length"
	t.Setenv("PATRA_TEST_METRICS_TOKEN", token)
	authority := wiretap.NewAuthority(t)
	cert, key := authority.Issue("server", "127.0.0.1")
	l, got, err := ListenConfig{Address: "0.0.0.0:0", Cert: cert, Key: key, Token: "env:PATRA_TEST_METRICS_TOKEN"}.openListener(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Reveal() != token {
		t.Error("another token")
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	pem, err := os.ReadFile(authority.File)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	if status, said := get(t, client, "https://127.0.0.1:"+port+"/", ""); status != http.StatusOK || said != "ok" {
		t.Errorf("%d %s", status, said)
	}
	if status, said := get(t, client, "http://127.0.0.1:"+port+"/", ""); status != http.StatusBadRequest || said == "ok" {
		t.Errorf("in plain text: %d %s", status, said)
	}
	if _, _, err := (ListenConfig{Address: "127.0.0.1:0", Cert: cert, Key: cert}).openListener(t.Context()); err == nil {
		t.Error("a key that is none")
	}
}
