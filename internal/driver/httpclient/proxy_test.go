package httpclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// A8: a proxy in the environment must not reroute requests. Go reads it once
// per process, so this needs a process of its own.
func TestA8ProxyOfTheEnvironmentIsIgnored(t *testing.T) {
	const proxied = "PATRA_TEST_PROXIED"
	if os.Getenv(proxied) == "" {
		t.Setenv(proxied, "yes")
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
			t.Setenv(name, "http://proxy.example:3128")
		}
		t.Setenv("NO_PROXY", "")
		t.Setenv("no_proxy", "")
		if out, err := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v").CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	var dialled []string
	client := New(Options{Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return nil, errors.New("no network in this test")
	}})
	for _, base := range []string{"http://upstream.example", "https://upstream.example"} { // loopback would never be proxied
		if _, err := client.Send(t.Context(), request(t, base)); err == nil {
			t.Error("sent without a network")
		}
	}
	if fmt.Sprint(dialled) != "[upstream.example:80 upstream.example:443]" {
		t.Errorf("dialled %v", dialled)
	}
}

// proxy lets requests through and notes what each one asked it for.
type proxy struct {
	mu   sync.Mutex
	seen []string
}

func (p *proxy) start(t *testing.T) string {
	return listen(t, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.seen = append(p.seen, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
		p.mu.Unlock()
		if r.Method != "CONNECT" {
			_, _ = io.WriteString(conn, head("200 OK", "Content-Length: 7")+"proxied")
			return
		}
		upstream, err := net.Dial("tcp", r.Host)
		if err != nil {
			return
		}
		defer upstream.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 Connected\r\n\r\n")
		go func() {
			_, _ = io.Copy(upstream, in)
			upstream.Close()
		}()
		_, _ = io.Copy(conn, upstream)
	})
}

// through is a request by way of the proxy that a reference leads to.
func through(t *testing.T, base string, address string) (*exchange.Request, Options) {
	t.Helper()
	r := request(t, base)
	if err := r.Proxy.UnmarshalText([]byte("env:PROXY")); err != nil {
		t.Fatal(err)
	}
	return r, Options{Reveal: func(_ context.Context, ref secret.Ref) (secret.Text, error) {
		if address == "" {
			return secret.Text{}, fmt.Errorf("%s: %w", ref, secret.ErrAbsent)
		}
		return secret.New(address), nil
	}}
}

// A proxy of the source is used for both schemes, and it alone hears its password.
func TestConfiguredProxy(t *testing.T) {
	const basic = " Basic YW5uOmh1bnRlcjI=" // ann:hunter2
	var p proxy
	address := strings.Replace(p.start(t), "http://", "http://ann:"+canary+"@", 1)

	r, options := through(t, "http://api.example.org/works", address)
	if response, err := New(options).Send(t.Context(), r); err != nil || string(response.Body) != "proxied" {
		t.Errorf("%+v %v", response, err)
	}
	base, trusting := secure(t, nil, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto, r.Header.Get("Proxy-Authorization"))
	})
	r, options = through(t, base, address)
	options.Roots = trusting.Roots
	if response, err := New(options).Send(t.Context(), r); err != nil || string(response.Body) != "HTTP/2.0" {
		t.Errorf("%+v %v", response, err)
	}
	want := "GET http://api.example.org/works?rows=5&api_key=" + canary + basic + "|CONNECT " + strings.TrimPrefix(base, "https://") + basic
	if got := strings.Join(p.seen, "|"); got != want {
		t.Errorf("the proxy heard %s, want %s", got, want)
	}
}

// A source with a proxy is never asked without it, and no error tells its
// password, whatever the proxy says.
func TestProxyThatDoesNotWork(t *testing.T) {
	var asked atomic.Int32
	base, trusting := secure(t, nil, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	at := func(answer string) string {
		return strings.Replace(raw(t, answer), "http://", "http://ann:"+canary+"@", 1)
	}
	for name, c := range map[string]struct {
		address string
		code    fault.Code
	}{
		"absent":             {"", fault.Refused},
		"no address":         {canary, fault.Refused},
		"no scheme":          {"ann:" + canary + "@proxy.example:3128", fault.Refused},
		"other scheme":       {"ftp://ann:" + canary + "@proxy.example", fault.Refused},
		"broken":             {"http://ann:" + canary + "@proxy.example:x", fault.Refused},
		"nobody listens":     {strings.Replace(listenAndClose(t), "http://", "http://ann:"+canary+"@", 1), fault.Network},
		"wrong password":     {at("HTTP/1.1 407 wrong password " + canary + "\r\n\r\n"), fault.Unauthorized},
		"forbidden":          {at("HTTP/1.1 403 " + canary + "\r\n\r\n"), fault.Unauthorized},
		"upstream not there": {at("HTTP/1.1 502 " + canary + "\r\n\r\n"), fault.Network},
		"redirect":           {at("HTTP/1.1 302 Found\r\nLocation: http://evil.example/" + canary + "\r\n\r\n"), fault.Network},
		"silent":             {at(""), fault.Network},
		"no HTTP":            {at(canary), fault.Network},
	} {
		r, options := through(t, base, c.address)
		options.Roots = trusting.Roots
		response, err := New(options).Send(t.Context(), r)
		var f *fault.Error
		if response != nil || !errors.As(err, &f) || f.Code != c.code || !f.Unsent {
			t.Errorf("%s: %+v %v", name, response, err)
		}
		keepsSecret(t, name, err)
	}
	r, options := through(t, base, "")
	options.Reveal = func(_ context.Context, ref secret.Ref) (secret.Text, error) {
		return secret.Text{}, fmt.Errorf("%s: %w", ref, secret.ErrTrouble)
	}
	_, err := New(options).Send(t.Context(), r)
	if f := fault.As(err); f.Code != fault.Unauthorized || f.Level != fault.Transient || !f.Unsent || f.Code.Breaks() || !errors.Is(err, secret.ErrTrouble) {
		t.Errorf("an address that cannot be read this time: %+v", f)
	}
	refusedWith(t, "nothing to read references with", r, fault.Refused)
	if asked.Load() != 0 {
		t.Errorf("%d requests came past the proxy", asked.Load())
	}
}

// A4: a proxy resolves names itself; what names a private place outright is
// still refused, and so is a proxy's own place as a target.
func TestA4PrivatePlacesBehindAProxy(t *testing.T) {
	var p proxy
	address := p.start(t)
	for host, public := range map[string]bool{
		"127.0.0.1": false, "[::1]": false, "localhost": false, "LOCALHOST.": false, "a.localhost": false, "169.254.169.254": false, "metadata.google.internal": false,
		"printer.local": false, "intranet": false, "127.1": false, "0x7f.0.0.1": false, "2130706433": false, "10.0.0.1.": false, "[::ffff:10.0.0.1]": false,
		"api.example.org": true, "API.EXAMPLE.ORG.": true, "93.184.216.34": true, "1.example.org": true,
	} {
		r, options := through(t, "http://"+host+"/", address)
		r.AllowPrivate = false
		_, err := New(options).Send(t.Context(), r)
		if refused := err != nil && fault.As(err).Code == fault.Refused; refused == public {
			t.Errorf("%s: %v", host, err)
		}
		r.AllowPrivate = true
		if _, err := New(options).Send(t.Context(), r); err != nil {
			t.Errorf("%s with permission: %v", host, err)
		}
	}
}
