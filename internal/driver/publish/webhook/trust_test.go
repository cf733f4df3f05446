package webhook

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/driver/hook"
)

func reference(t *testing.T, text string) (ref secret.Ref) {
	t.Helper()
	if err := ref.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return ref
}

// publishOne sends one event with these values behind the references.
func publishOne(t *testing.T, o Options, values map[string]string) error {
	t.Helper()
	if o.Secret.IsZero() {
		o.Secret = reference(t, "env:HOOK_SECRET")
	}
	o.Reveal = func(_ context.Context, ref secret.Ref) (secret.Text, error) {
		value, ok := values[ref.String()]
		if !ok {
			return secret.Text{}, fmt.Errorf("%s: %w", ref, secret.ErrAbsent)
		}
		return secret.New(value), nil
	}
	p := New(o)
	defer p.Close()
	return p.Publish(t.Context(), []event.Sealed{{ID: "a", Bytes: []byte("{}")}})[0]
}

var oneKey = map[string]string{"env:HOOK_SECRET": canary}

// A proxy of the environment would read every event.
func TestTrust04NoProxyOfTheEnvironment(t *testing.T) {
	asked := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	transport := New(Options{}).options.Client.Transport.(*http.Transport)
	if transport.Proxy != nil {
		t.Error("a proxy may be used")
	}
	// Nobody answers to this name; only a proxy would.
	if err := publishOne(t, Options{URL: "http://receiver.invalid/"}, oneKey); err == nil || asked > 0 {
		t.Errorf("%v; the proxy was asked %d times", err, asked)
	}
}

func TestTrust04PrivateAddressesAreRefusedUnlessAllowed(t *testing.T) {
	asked := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer receiver.Close()
	named := strings.Replace(receiver.URL, "127.0.0.1", "localhost", 1)
	for _, address := range []string{receiver.URL, named, "http://10.1.2.3/", "http://169.254.169.254/latest", "http://[::1]:1/"} {
		err := publishOne(t, Options{URL: address}, oneKey)
		if err == nil || !strings.Contains(err.Error(), "private or local address") || !strings.Contains(err.Error(), "allowPrivate") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if asked > 0 {
		t.Error("it was asked")
	}
	if err := publishOne(t, Options{URL: receiver.URL, AllowPrivate: true}, oneKey); err != nil || asked != 1 {
		t.Error(err, asked)
	}
}

// A short key can be found from one signature.
func TestTrust04SecretsHaveAtLeast24Bytes(t *testing.T) {
	asked := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer receiver.Close()
	coded := func(n int) string {
		return hook.SecretPrefix + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, n))
	}
	for value, good := range map[string]bool{
		strings.Repeat("k", 23): false, strings.Repeat("k", 24): true, coded(23): false, coded(24): true, coded(64): true, coded(0): false, "": false,
	} {
		asked = 0
		err := publishOne(t, Options{URL: receiver.URL, AllowPrivate: true}, map[string]string{"env:HOOK_SECRET": value})
		if (err == nil) != good || (asked == 1) != good {
			t.Errorf("%d characters: %v, asked %d times", len(value), err, asked)
		}
		if !good && (!strings.Contains(err.Error(), "24") || !strings.Contains(err.Error(), "env:HOOK_SECRET")) {
			t.Errorf("%v does not say what to do", err)
		}
	}
}

// While receivers change over, each can check one of two signatures.
func TestTrust04TwoSecretsDuringARotation(t *testing.T) {
	var got string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Webhook-Signature") }))
	defer receiver.Close()
	at := time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC)
	o := Options{URL: receiver.URL, AllowPrivate: true, OldSecret: reference(t, "env:HOOK_SECRET_OLD"), Clock: func() time.Time { return at }}
	const old = "the-secret-that-was-known-before"
	if err := publishOne(t, o, map[string]string{"env:HOOK_SECRET": canary, "env:HOOK_SECRET_OLD": old}); err != nil {
		t.Fatal(err)
	}
	want := hook.Sign([]byte(canary), "a", at, []byte("{}")) + " " + hook.Sign([]byte(old), "a", at, []byte("{}"))
	if got != want {
		t.Errorf("signatures %q, want %q", got, want)
	}
	for name, values := range map[string]map[string]string{
		"no old one": oneKey, "a short old one": {"env:HOOK_SECRET": canary, "env:HOOK_SECRET_OLD": "short"}, "no new one": {"env:HOOK_SECRET_OLD": old},
	} {
		if got = ""; publishOne(t, o, values) == nil || got != "" {
			t.Errorf("%s: it was sent", name)
		}
	}
}

// answering is a receiver that says anything at all.
func answering(t *testing.T, text string) string {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listen.Close() })
	go func() {
		for {
			conn, err := listen.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}()
	return "http://" + listen.Addr().String()
}

// Whatever a receiver says instead of an answer, nothing of it is repeated, and
// nothing of its address.
func TestTrust04ErrorsAreOurOwnWords(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer secure.Close()
	for name, c := range map[string]struct{ address, says string }{
		"no HTTP":               {answering(t, canary+"\r\n\r\n"), "no answer of HTTP"},
		"a bad status line":     {answering(t, "HTTP/1.1 "+canary+"\r\n\r\n"), "no answer of HTTP"},
		"a bad header":          {answering(t, "HTTP/1.1 200 OK\r\n"+canary+"\r\n\r\n"), "no answer of HTTP"},
		"a bad length":          {answering(t, "HTTP/1.1 200 OK\r\nContent-Length: "+canary+"\r\n\r\n"), "no answer of HTTP"},
		"a bad encoding":        {answering(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: "+canary+"\r\n\r\n"), "no answer of HTTP"},
		"nothing":               {answering(t, ""), "closed before one came"},
		"nobody":                {"http://127.0.0.1:1", "no server listens"},
		"no such name":          {"http://canary-4711.invalid", "DNS"},
		"no TLS":                {strings.Replace(answering(t, canary), "http:", "https:", 1), "does not speak TLS"},
		"an unknown authority":  {secure.URL, "not signed by an authority that this machine trusts"},
		"an address that is no": {"http://" + canary + ".exa mple", "cannot be used"},
	} {
		err := publishOne(t, Options{URL: c.address + "/" + canary, AllowPrivate: true, Timeout: time.Minute}, oneKey)
		if err == nil || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), `"`) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
