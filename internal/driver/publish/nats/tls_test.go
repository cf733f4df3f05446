package nats

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/link"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/testkit/wiretap"
)

const tlsToken = "canary-4711"

func withToken(o Options) Options {
	_ = o.Token.UnmarshalText([]byte("env:BUS"))
	o.Stream, o.Subject = "PATRA", "patra.records"
	o.Reveal = func(context.Context, secret.Ref) (secret.Text, error) { return secret.New(tlsToken), nil }
	return o
}

// A server elsewhere gets token and events over TLS, if its certificate is believed.
func TestTrust03StreamOverTLS(t *testing.T) {
	host := wiretap.Elsewhere(t)
	ours := wiretap.NewAuthority(t)
	pair, err := tls.LoadX509KeyPair(ours.Issue("server", host))
	if err != nil {
		t.Fatal(err)
	}
	run, err := server.NewServer(&server.Options{Host: host, Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, Authorization: tlsToken,
		TLS: true, TLSTimeout: 60, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}})
	if err != nil {
		t.Fatal(err)
	}
	run.Start()
	t.Cleanup(run.Shutdown)
	if !run.ReadyForConnections(time.Minute) {
		t.Fatal("the server did not start")
	}
	direct, err := nats.Connect(run.ClientURL(), nats.Token(tlsToken), nats.RootCAs(ours.File))
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	js, err := jetstream.New(direct)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "PATRA", Subjects: []string{"patra.>"}}); err != nil {
		t.Fatal(err)
	}
	address := "nats://" + run.Addr().String()
	one := []event.Sealed{{ID: "one", Source: "s", Endpoint: "e", Op: event.Inserted, Bytes: []byte(`{}`)}}
	good, err := Open(withToken(Options{URL: address, Security: link.Security{CA: ours.File}}))
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	if err := good.Publish(t.Context(), one)[0]; err != nil {
		t.Error(err)
	}
	bad, err := Open(withToken(Options{URL: address}))
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	if err := bad.Publish(t.Context(), one)[0]; err == nil || !strings.Contains(err.Error(), "ca=FILE") {
		t.Errorf("a certificate that nobody knows: %v", err)
	}
}

// A server of this machine cannot send us, with the token, to one that is elsewhere.
func TestTrust03DiscoveredServersAreNotFollowed(t *testing.T) {
	elsewhere := wiretap.Listen(t, wiretap.Elsewhere(t), func(conn net.Conn) { greet(conn, "") })
	asked := make(chan struct{}, 100)
	here := wiretap.Listen(t, "127.0.0.1", func(conn net.Conn) {
		asked <- struct{}{}
		greet(conn, elsewhere.Addr)
	})
	p, err := Open(withToken(Options{URL: "nats://" + here.Addr}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 3 { // each time it was sent away
		<-asked
	}
	if strings.Contains(elsewhere.Heard(), tlsToken) {
		t.Errorf("the server elsewhere heard %q", elsewhere.Heard())
	}
	if !strings.Contains(here.Heard(), tlsToken) {
		t.Error("the server here heard no token: the test shows nothing")
	}
}

// greet welcomes a client, names another server, and hangs up after its first words.
func greet(conn net.Conn, other string) {
	more := ""
	if other != "" {
		more = fmt.Sprintf(`,"connect_urls":[%q]`, other)
	}
	fmt.Fprintf(conn, "INFO {\"server_id\":\"tap\",\"version\":\"2.10.0\",\"proto\":1,\"headers\":true,\"auth_required\":true,\"max_payload\":1048576%s}\r\n", more)
	if _, err := io.ReadAtLeast(conn, make([]byte, 512), 10); err == nil {
		fmt.Fprint(conn, "PONG\r\n")
	}
}
