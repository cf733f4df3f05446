package httpclient

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// timed runs one request against a server in a world where only its own waits
// take time, and says how it ended and after how long.
func timed(t *testing.T, base string, limits exchange.Limits, serve func(net.Conn)) (response *exchange.Response, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var servers sync.WaitGroup
		client := New(Options{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if serve == nil {
				<-ctx.Done() // nobody picks up
				return nil, ctx.Err()
			}
			ours, theirs := net.Pipe()
			servers.Go(func() {
				defer theirs.Close()
				serve(theirs)
			})
			return ours, nil
		}})
		r := request(t, base)
		limits.MaxBodyBytes, limits.AllowHTTP, limits.AllowPrivate = 1<<20, true, true
		r.Limits = limits
		began := time.Now()
		response, err = client.Send(t.Context(), r)
		took = time.Since(began)
		client.private.CloseIdleConnections()
		servers.Wait()
	})
	return response, took, err
}

// answering reads the request and then writes a text bit by bit.
func answering(text string, bit int, every time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return
		}
		for rest := text; rest != ""; rest = rest[min(bit, len(rest)):] {
			if _, err := io.WriteString(conn, rest[:min(bit, len(rest))]); err != nil {
				return
			}
			<-time.After(every)
		}
		_, _ = io.Copy(io.Discard, conn) // until the client goes
	}
}

// A13, F25: whoever makes us wait, there is a limit, and the error names it.
func TestA13EveryWaitHasALimit(t *testing.T) {
	const plain, secured = "http://upstream.example", "https://upstream.example"
	all := exchange.Limits{Timeout: 2 * time.Minute, ConnectTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second, MinRate: 1000}
	only := func(set func(*exchange.Limits)) exchange.Limits {
		limits := exchange.Limits{Timeout: 2 * time.Minute}
		set(&limits)
		return limits
	}
	long := head("200 OK", "Content-Length: 100000") + strings.Repeat("x", 100_000)
	headOnly := len(head("200 OK", "Content-Length: 100000"))
	silent := func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }
	for name, c := range map[string]struct {
		base   string
		limits exchange.Limits
		serve  func(net.Conn)
		ends   time.Duration
		says   string
		unsent bool
	}{
		"nobody picks up":           {plain, all, nil, 10 * time.Second, "http.connectTimeout of PT10S", true},
		"no handshake":              {secured, all, silent, 10 * time.Second, "http.connectTimeout of PT10S", true},
		"no answer":                 {plain, all, silent, 20 * time.Second, "http.readTimeout of PT20S", false},
		"no answer, one limit":      {plain, only(func(*exchange.Limits) {}), silent, 2 * time.Minute, "http.timeout of PT2M", false},
		"nobody, one limit":         {plain, only(func(*exchange.Limits) {}), nil, 2 * time.Minute, "http.timeout of PT2M", true},
		"dribbled header":           {plain, all, answering(long, 1, time.Second), 20 * time.Second, "http.readTimeout of PT20S", false},
		"dribbled header, no limit": {plain, only(func(l *exchange.Limits) { l.MinRate = 1000 }), answering("HTTP/1.1 200 OK\r\nX: "+long, 1, 10*time.Second), 2 * time.Minute, "http.timeout of PT2M", false},
		"dribbled body":             {plain, all, answering(long, headOnly, time.Second), 30 * time.Second, "http.minRate of 1000 per second", false},
		"dribbled body, no rate":    {plain, only(func(l *exchange.Limits) { l.ReadTimeout = 2 * time.Second }), answering(long, headOnly, time.Second), 2 * time.Minute, "http.timeout of PT2M", false},
		"silence in the body":       {plain, only(func(l *exchange.Limits) { l.ReadTimeout = 5 * time.Second }), answering(long[:headOnly+7], 5, 0), 5 * time.Second, "http.readTimeout of PT5S", false},
		"silence, only a rate":      {plain, only(func(l *exchange.Limits) { l.MinRate = 1 }), answering(long[:headOnly+7], headOnly, 0), 30 * time.Second, "http.minRate of 1 per second", false},
		"slow from the second half": {plain, all, answering(long[:headOnly+50_000], headOnly+50_000, 0), 20 * time.Second, "a silence within the answer took longer", false},
	} {
		response, took, err := timed(t, c.base, c.limits, c.serve)
		var f *fault.Error
		if response != nil || !errors.As(err, &f) || f.Code != fault.Network || f.Level != fault.Transient || !strings.Contains(f.Error(), c.says) {
			t.Errorf("%s: %+v %v", name, response, err)
			continue
		}
		if took != c.ends || f.Unsent != c.unsent {
			t.Errorf("%s: ended after %v, want %v; unsent %v", name, took, c.ends, f.Unsent)
		}
		keepsSecret(t, name, err)
	}
}

// A body that goes fast and then trickles is judged by its last half minute, not
// by its mean.
func TestA13RateOfTheLastWindow(t *testing.T) {
	header := head("200 OK", "Content-Length: 900000")
	serve := func(conn net.Conn) {
		answering(header+strings.Repeat("x", 800_000), 400_000, time.Second)(conn)
	}
	_, took, err := timed(t, "http://upstream.example", exchange.Limits{Timeout: 2 * time.Minute, MinRate: 1000}, serve)
	if took != time.Minute || fault.As(err).Code != fault.Network {
		t.Errorf("%v after %v", err, took)
	}
}

// What is slow but within its limits arrives.
func TestSlowButWithinLimits(t *testing.T) {
	body := strings.Repeat("x", 60_100)
	limits := exchange.Limits{Timeout: 2 * time.Minute, ConnectTimeout: time.Second, ReadTimeout: 12 * time.Second, MinRate: 1000}
	for name, c := range map[string]struct {
		serve func(net.Conn)
		takes time.Duration
	}{
		"steady": {answering(head("200 OK", length(body))+body, 10_100, 10*time.Second), 50 * time.Second},
		"short":  {answering(head("200 OK", "Content-Length: 2")+"{}", len(head("200 OK", "Content-Length: 2"))+1, 11*time.Second), 11 * time.Second},
		"late answer": {func(conn net.Conn) {
			<-time.After(11 * time.Second)
			answering(head("200 OK", "Content-Length: 2")+"{}", 1000, 0)(conn)
		}, 11 * time.Second},
	} {
		response, took, err := timed(t, "http://upstream.example", limits, c.serve)
		if err != nil || response == nil || took != c.takes {
			t.Errorf("%s: %+v %v after %v, want %v", name, response, err, took, c.takes)
		}
	}
}

// A stop by the caller is not a broken limit.
func TestStopIsNoLimit(t *testing.T) {
	stopped, why := context.WithCancelCause(t.Context())
	reason := errors.New("shutting down")
	base := listen(t, func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		why(reason)
		_, _ = io.Copy(io.Discard, conn)
	})
	_, err := New(Options{}).Send(stopped, request(t, base))
	if fault.As(err).Code != fault.Network || strings.Contains(err.Error(), "http.") {
		t.Errorf("%v", err)
	}
}
