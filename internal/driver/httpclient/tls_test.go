package httpclient

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// secure starts a server with TLS and gives what trusts it.
func secure(t *testing.T, config *tls.Config, h http.HandlerFunc) (base string, trusting Options) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = config == nil
	s.TLS = config
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s.URL, Options{Roots: roots}
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

// F23: TLS is never downgraded.
func TestOldTLSIsRefused(t *testing.T) {
	for version, ok := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		var asked atomic.Int32
		base, trusting := secure(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version}, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
		_, err := New(trusting).Send(t.Context(), request(t, base))
		if (err == nil) != ok || (asked.Load() == 1) != ok {
			t.Errorf("%s: %v, %d requests arrived", tls.VersionName(version), err, asked.Load())
		}
		if f := fault.As(err); !ok && (f.Code != fault.Network || !f.Unsent) {
			t.Errorf("%s: %+v", tls.VersionName(version), f)
		}
	}
}

// A certificate for another name is none.
func TestCertificateOfAnotherName(t *testing.T) {
	base, trusting := secure(t, nil, func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") })
	names := &fakeNames{answers: [][]string{{"127.0.0.1"}}}
	trusting.Resolver = names.resolver()
	r := request(t, strings.Replace(base, "127.0.0.1", "other.example.net", 1))
	if _, err := New(trusting).Send(t.Context(), r); fault.As(err).Code != fault.Network || !fault.As(err).Unsent {
		t.Errorf("%v", err)
	}
}

// HTTP/2 is used where it is offered: many requests over one connection, whether
// or not they can be replayed.
func TestHTTP2(t *testing.T) {
	var ports sync.Map
	base, trusting := secure(t, nil, func(w http.ResponseWriter, r *http.Request) {
		ports.Store(r.RemoteAddr, true)
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Encoding", "gzip")
		w.(http.Flusher).Flush() // no length then
		_, _ = io.WriteString(w, zipped(r.Proto+" "+r.Method+" "+string(body)))
	})
	client := New(trusting)
	for n := range 6 {
		r := request(t, base)
		r.Replayable = n%2 == 0
		want := "HTTP/2.0 GET "
		if n > 2 {
			r.Method, r.Body, want = "POST", []byte("ids=1"), "HTTP/2.0 POST ids=1"
		}
		if response, err := client.Send(t.Context(), r); err != nil || string(response.Body) != want || response.OpenEnded {
			t.Errorf("%+v %v", response, err)
		}
	}
	connections := 0
	ports.Range(func(any, any) bool { connections++; return true })
	if connections != 1 {
		t.Errorf("%d connections for 6 requests", connections)
	}
}

// F24, F27 over HTTP/2: a stream that is reset, and one that ends before its length.
func TestHTTP2CutAnswers(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"reset": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "{")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"reset after a length": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"short": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		},
		"packed and short": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, zipped("{}")[:9])
		},
	} {
		base, trusting := secure(t, nil, serve)
		if response, err := New(trusting).Send(t.Context(), request(t, base)); fault.As(err).Code != fault.Network || fault.As(err).Unsent {
			t.Errorf("%s: %+v %v", name, response, err)
		}
	}
}
