package httpclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// A4: the address that is dialled decides, whatever name led to it.
func TestPrivateAddressesAreRefused(t *testing.T) {
	for _, address := range []string{
		"127.0.0.1:80", "127.8.9.10:443", "[::1]:80", "0.0.0.0:80", "[::]:80", "10.1.2.3:80", "172.16.0.1:80", "172.31.255.255:80", "192.168.1.1:80",
		"169.254.169.254:80", "[fe80::1]:80", "[fe80::1%lo]:80", "[fd00:ec2::254]:80", "[fc00::1]:80", "100.64.0.1:80", "100.127.255.255:80",
		"224.0.0.1:80", "[ff02::1]:80", "255.255.255.255:80", "[::ffff:127.0.0.1]:80", "[::ffff:10.0.0.1]:80", "[::ffff:169.254.169.254]:80", "[::ffff:100.64.0.1]:80",
		"[::ffff:0.0.0.0]:80", "localhost:80", "", "nonsense",
	} {
		if err := refusePrivate("tcp", address, nil); fault.As(err).Code != fault.Refused {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"93.184.216.34:443", "[2606:2800:220:1::1]:443", "100.63.255.255:80", "100.128.0.1:80", "172.32.0.1:80", "11.0.0.1:80", "[::ffff:93.184.216.34]:80"} {
		if err := refusePrivate("tcp", address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestPrivateServersNeedPermission(t *testing.T) {
	var asked atomic.Int32
	base := handle(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	_, port, err := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		r := request(t, "http://"+host+":"+port)
		r.AllowPrivate = false
		f := refusedWith(t, host, r, fault.Refused)
		if f.Level != fault.Request {
			t.Errorf("%s: level %s: trying again would not help", host, f.Level)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("%d requests arrived", asked.Load())
	}
	if _, err := New(Options{}).Send(t.Context(), request(t, base)); err != nil || asked.Load() != 1 {
		t.Errorf("with permission: %v, %d arrived", err, asked.Load())
	}
}

// One client serves sources with and without permission: a connection that one
// of them opened is not there for the other.
func TestPermissionIsNotInherited(t *testing.T) {
	base := handle(t, func(http.ResponseWriter, *http.Request) {})
	client := New(Options{})
	if _, err := client.Send(t.Context(), request(t, base)); err != nil {
		t.Fatal(err)
	}
	r := request(t, base)
	r.AllowPrivate = false
	if _, err := client.Send(t.Context(), r); fault.As(err).Code != fault.Refused {
		t.Errorf("the kept connection of another source was used: %v", err)
	}
}

func TestPlainHTTPNeedsPermission(t *testing.T) {
	var asked atomic.Int32
	base := handle(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, scheme := range []string{"http", "ftp", "file", ""} {
		r := request(t, base)
		r.AllowHTTP, r.URL.Scheme = false, scheme
		refusedWith(t, scheme, r, fault.Refused)
	}
	if asked.Load() != 0 {
		t.Errorf("%d requests arrived", asked.Load())
	}
}

// F23: a certificate nobody vouches for ends the request; nothing is sent.
func TestUntrustedCertificate(t *testing.T) {
	var asked atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	r := request(t, s.URL)
	r.AllowHTTP = false
	refusedWith(t, "self-signed", r, fault.Network)
	if asked.Load() != 0 {
		t.Error("a request arrived")
	}
}

// A6, A7: a redirect is an answer like any other; nobody follows it.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var elsewhere atomic.Int32
	other := handle(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		base := handle(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other+"/?"+r.URL.RawQuery)
			w.WriteHeader(status)
		})
		for _, replayable := range []bool{true, false} {
			r := request(t, base)
			r.Replayable = replayable
			response, err := New(Options{}).Send(t.Context(), r)
			if err != nil || response.Status != status {
				t.Errorf("%d: %+v %v", status, response, err)
			}
		}
	}
	if elsewhere.Load() != 0 {
		t.Errorf("%d requests went elsewhere", elsewhere.Load())
	}
}

// A8: a proxy in the environment must not reroute requests. Go reads it once
// per process, so this needs a process of its own.
func TestProxyOfTheEnvironmentIsIgnored(t *testing.T) {
	const proxied = "PATRA_TEST_PROXIED"
	if os.Getenv(proxied) == "" {
		t.Setenv(proxied, "yes")
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
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

// I12: whatever goes wrong, the query is not part of the message.
func TestErrorsDoNotTellTheQuery(t *testing.T) {
	closed := listenAndClose(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	badHeader := request(t, closed)
	badHeader.Header["X Bad"] = []string{"a\r\nb"}
	badHost := request(t, closed)
	badHost.URL.Host = "a b"
	badMethod := request(t, closed)
	badMethod.Method = "GET /?"
	for name, c := range map[string]struct {
		ctx context.Context
		r   *exchange.Request
	}{
		"nobody listens":    {t.Context(), request(t, closed)},
		"no such name":      {t.Context(), request(t, "http://no-such-host.invalid")},
		"cancelled":         {cancelled, request(t, closed)},
		"bad header":        {t.Context(), badHeader},
		"bad host":          {t.Context(), badHost},
		"bad method":        {t.Context(), badMethod},
		"plain http to TLS": {t.Context(), request(t, strings.Replace(handle(t, func(http.ResponseWriter, *http.Request) {}), "http:", "https:", 1))},
		"a broken redirect": {t.Context(), request(t, raw(t, head("302 Found", "Location: http://%zz/", "Content-Length: 0")))},
		"a lost answer":     {t.Context(), request(t, raw(t, ""))},
	} {
		_, err := New(Options{}).Send(c.ctx, c.r)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		keepsSecret(t, name, fmt.Errorf("task 7: %w", fmt.Errorf("page 3: %w", err)))
	}
}

func listenAndClose(t *testing.T) string {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	return "http://" + port.Addr().String()
}

// Only a request that reached nobody may be sent again whatever its token.
func TestUnsentIsKnown(t *testing.T) {
	f := refusedWith(t, "nobody listens", request(t, listenAndClose(t)), fault.Network)
	if !f.Unsent || f.Level != fault.Transient {
		t.Errorf("%+v", f)
	}
	reset := listen(t, func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_ = conn.(*net.TCPConn).SetLinger(0) // closing sends RST instead of FIN
	})
	for name, base := range map[string]string{"closed": raw(t, ""), "reset": reset} {
		if f := refusedWith(t, name, request(t, base), fault.Network); f.Unsent {
			t.Errorf("%s: an answer that got lost passes for a request that was not sent", name)
		}
	}
}
