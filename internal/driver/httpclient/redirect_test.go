package httpclient

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// A6, A7: a redirect is an answer like any other; nobody here follows it, also
// where the source allows redirects: the chain does, request by request.
func TestA6A7RedirectsAreNotFollowed(t *testing.T) {
	var elsewhere atomic.Int32
	other := handle(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		base := handle(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other+"/?"+r.URL.RawQuery)
			w.WriteHeader(status)
		})
		for _, replayable := range []bool{true, false} {
			r := request(t, base)
			r.Replayable, r.AllowRedirects = replayable, true
			r.Header.Set("X-Api-Key", canary)
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

// A9: what a source may be asked by.
func TestA9PlainHTTPNeedsPermission(t *testing.T) {
	var asked atomic.Int32
	base := handle(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, scheme := range []string{"http", "ftp", "file", ""} {
		r := request(t, base)
		r.AllowHTTP, r.URL.Scheme = false, scheme
		refusedWith(t, scheme, r, fault.Refused)
	}
	for _, scheme := range []string{"ftp", "file", "unix", "gopher", "HTTP", ""} {
		r := request(t, base)
		r.URL.Scheme = scheme
		refusedWith(t, scheme+" with permission for http", r, fault.Refused)
	}
	if asked.Load() != 0 {
		t.Errorf("%d requests arrived", asked.Load())
	}
}

// No session is kept that nobody declared: what one answer sets, the next
// request does not bring back.
func TestNoCookiesAreKept(t *testing.T) {
	base := handle(t, func(w http.ResponseWriter, r *http.Request) {
		if len(r.Cookies()) > 0 {
			w.WriteHeader(http.StatusTeapot)
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/"})
	})
	client := New(Options{})
	for range 3 {
		if response, err := client.Send(t.Context(), request(t, base)); err != nil || response.Status != 200 {
			t.Fatalf("%+v %v", response, err)
		}
	}
}
