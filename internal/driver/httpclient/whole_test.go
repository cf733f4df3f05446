package httpclient

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestWholeAnswer(t *testing.T) {
	const body = `{"status":"ok","title":"ü"}`
	var got *http.Request
	base := handle(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("X-Api-Pool", "polite")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, zipped(body))
	})
	r := request(t, base+"/works")
	r.Header.Set("User-Agent", "patra/1")
	r.Header.Set("Accept-Encoding", "br") // ours is not negotiable: only what we can decode
	response, err := New(Options{}).Send(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if response.Status != 202 || string(response.Body) != body || response.WireBytes != int64(len(zipped(body))) || response.Header.Get("x-api-pool") != "polite" {
		t.Errorf("%+v", response)
	}
	if response.SentAt.IsZero() || response.Took <= 0 {
		t.Errorf("sent %v, took %v", response.SentAt, response.Took)
	}
	if got.UserAgent() != "patra/1" || got.Header.Get("Accept-Encoding") != acceptEncoding || got.URL.Query().Get("api_key") != canary || got.URL.Path != "/works" {
		t.Errorf("asked %v with %v", got.URL, got.Header)
	}
}

// A request whose token cannot be replayed looks the same on the wire.
func TestUnreplayableRequestHasNoBody(t *testing.T) {
	base := handle(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %d %v %q", r.Method, r.ContentLength, r.TransferEncoding, body)
	})
	for _, replayable := range []bool{true, false} {
		r := request(t, base)
		r.Replayable = replayable
		response, err := New(Options{}).Send(t.Context(), r)
		if err != nil || string(response.Body) != `GET 0 [] ""` {
			t.Errorf("replayable %v: %s %v", replayable, response.Body, err)
		}
	}
}

// A body travels whole, with its length, whether or not it may be sent twice.
func TestPostedBody(t *testing.T) {
	base := handle(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %d %v %q %s", r.Method, r.ContentLength, r.TransferEncoding, body, r.Header.Get("Content-Type"))
	})
	for _, replayable := range []bool{true, false} {
		r := request(t, base)
		r.Method, r.Body, r.Replayable = "POST", []byte("ids=1%2C2"), replayable
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := New(Options{}).Send(t.Context(), r)
		if err != nil || string(response.Body) != `POST 9 [] "ids=1%2C2" application/x-www-form-urlencoded` {
			t.Errorf("replayable %v: %s %v", replayable, response.Body, err)
		}
	}
}

// What an error answer says counts even if its body cannot be read: a 429 whose
// page is broken is still a 429 with its Retry-After (I11).
func TestErrorStatusCountsWithoutItsBody(t *testing.T) {
	for name, answer := range map[string]string{
		"cut short":        head("429 Too Many Requests", "Retry-After: 7", "Content-Length: 100") + "<html>",
		"unknown encoding": head("429 Too Many Requests", "Retry-After: 7", "Content-Encoding: br") + "<html>",
		"empty gzip":       head("429 Too Many Requests", "Retry-After: 7", "Content-Encoding: gzip", "Content-Length: 0"),
		"too large":        head("429 Too Many Requests", "Retry-After: 7") + strings.Repeat("x", 2<<20),
	} {
		response, err := New(Options{}).Send(t.Context(), request(t, raw(t, answer)))
		if err != nil || response.Status != 429 || response.Header.Get("Retry-After") != "7" || len(response.Body) != 0 {
			t.Errorf("%s: %+v, %v", name, response, err)
		}
	}
	response, err := New(Options{}).Send(t.Context(), request(t, raw(t, head("500 Oops", length("<html>"))+"<html>")))
	if err != nil || !bytes.Equal(response.Body, []byte("<html>")) {
		t.Errorf("a good error page got lost: %+v %v", response, err)
	}
}
