package redisgate

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/testkit/redis"
	"github.com/patra-ingest/patra/internal/testkit/wiretap"
)

// A server elsewhere is asked over TLS, and believed only if its certificate is.
func TestTrust03RedisOverTLS(t *testing.T) {
	host := wiretap.Elsewhere(t)
	ours := wiretap.NewAuthority(t)
	cert, key := ours.Issue("server", host)
	free, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	redis.Start(t, "--bind", "127.0.0.1", host, "--protected-mode", "no", "--tls-port", fmt.Sprint(port), "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", ours.File, "--tls-auth-clients", "no")
	address := fmt.Sprintf("rediss://%s:%d/0", host, port)
	if err := open(t, address+"?ca="+ours.File, "tls").Reachable(t.Context()); err != nil {
		t.Error(err)
	}
	if err := open(t, address, "tls").Reachable(t.Context()); err == nil || !strings.Contains(err.Error(), "authority") {
		t.Errorf("a certificate that nobody knows: %v", err)
	}
}

// Without TLS nobody elsewhere hears the password, unless tls=off is written.
func TestTrust03NoPasswordForAPlainRedis(t *testing.T) {
	host := wiretap.Elsewhere(t)
	tap := wiretap.Listen(t, host, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	for _, address := range []string{"redis://:canary-4711@" + tap.Addr + "/0", "redis://:canary-4711@" + tap.Addr + "/0?tls=on", "rediss://:canary-4711@" + tap.Addr + "/0"} {
		g, err := New(Config{URL: address, ID: "a", Alone: own{rategate.New()}})
		if err == nil {
			_ = g.Reachable(t.Context())
			g.Close()
		}
		if strings.Contains(tap.Heard(), "canary-4711") {
			t.Fatalf("%s: the server heard %q", Masked(address), tap.Heard())
		}
	}
	g, err := New(Config{URL: "redis://:canary-4711@" + tap.Addr + "/0?tls=off", ID: "a", Alone: own{rategate.New()}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	_ = g.Reachable(t.Context())
	if !strings.Contains(tap.Heard(), "canary-4711") {
		t.Errorf("tls=off was not followed: %q", tap.Heard())
	}
}
