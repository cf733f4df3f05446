package webhook

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/driver/hook"
	"github.com/patra-ingest/patra/internal/testkit/outboxtest"
)

const canary = "canary-4711-secret-of-24-bytes"

// receiver takes webhooks as the specification says.
type receiver struct {
	t      *testing.T
	server *httptest.Server
	line   *outboxtest.Line

	mu       sync.Mutex
	messages []outboxtest.Message
	refuse   string
	status   int
	reached  chan struct{}
	headers  http.Header
}

const largest = 64 << 10

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, reached: make(chan struct{}, 10000)}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	r.line = outboxtest.NewLine(t, r.server.Listener.Addr().(*net.TCPAddr).String())
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := q.Header.Get("Webhook-Id")
	seconds, err := time.Parse(time.RFC3339, "2025-03-20T12:00:00Z")
	if want := hook.Sign([]byte(canary), id, seconds, body); err != nil || q.Header.Get("Webhook-Signature") != want || q.Header.Get("Webhook-Timestamp") != "1742472000" {
		r.t.Errorf("signature %q at %q, want %q", q.Header.Get("Webhook-Signature"), q.Header.Get("Webhook-Timestamp"), want)
	}
	r.headers = q.Header
	switch {
	case r.status != 0:
		w.Header().Set("Location", r.server.URL+"/elsewhere")
		w.WriteHeader(r.status)
		return
	case id == r.refuse:
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	case len(body) > largest:
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	r.messages = append(r.messages, outboxtest.Message{ID: id, Bytes: body})
	r.reached <- struct{}{}
	w.WriteHeader(http.StatusNoContent)
}

func (r *receiver) open(t *testing.T) *Publisher {
	t.Helper()
	var ref secret.Ref
	if err := ref.UnmarshalText([]byte("env:HOOK_SECRET")); err != nil {
		t.Fatal(err)
	}
	return New(Options{
		URL: "http://" + r.line.Addr + "/events?key=" + canary, Secret: ref, AllowPrivate: true, Clock: func() time.Time { return time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC) },
		Reveal: func(context.Context, secret.Ref) (secret.Text, error) { return secret.New(canary), nil },
	})
}

func TestPublisher(t *testing.T) {
	outboxtest.Run(t, func(t *testing.T) outboxtest.Broker {
		r := newReceiver(t)
		return outboxtest.Broker{
			Open: func(t *testing.T) outboxtest.Publisher { return r.open(t) },
			Received: func(*testing.T) []outboxtest.Message {
				r.mu.Lock()
				defer r.mu.Unlock()
				return append([]outboxtest.Message{}, r.messages...)
			},
			Down: func(*testing.T) { r.line.Cut() },
			Up:   func(*testing.T) { r.line.Mend() },
			Hold: func(*testing.T) {
				for len(r.reached) > 0 {
					<-r.reached
				}
				r.line.Hold()
			},
			Free:     func(*testing.T) { r.line.Free() },
			Reached:  func(*testing.T) { <-r.reached },
			TooLarge: largest,
			Refuse: func(_ *testing.T, id string) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.refuse = id
			},
		}
	})
}

func TestWhatIsWrongWithTheEventIsToldFromWhatIsWrongWithTheReceiver(t *testing.T) {
	r := newReceiver(t)
	p := r.open(t)
	for status, refused := range map[int]bool{
		302: false, 400: true, 401: false, 403: false, 404: false, 408: false, 409: true, 410: false, 413: true, 415: true, 422: true, 429: false, 500: false, 503: false,
	} {
		r.mu.Lock()
		r.status = status
		r.mu.Unlock()
		err := p.Publish(t.Context(), []event.Sealed{{ID: "a", Bytes: []byte("{}")}})[0]
		if err == nil || outboxtest.IsRefusal(err) != refused {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

func TestErrorsHoldNoSecret(t *testing.T) {
	r := newReceiver(t)
	p := r.open(t)
	r.line.Cut()
	err := p.Publish(t.Context(), []event.Sealed{{ID: "a", Bytes: []byte("{}")}})[0]
	if err == nil || strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "/events") {
		t.Error(err)
	}
	p.options.Reveal = func(context.Context, secret.Ref) (secret.Text, error) { return secret.New("whsec_" + canary), nil }
	if err := p.Publish(t.Context(), []event.Sealed{{ID: "a", Bytes: []byte("{}")}})[0]; err == nil || strings.Contains(err.Error(), canary) {
		t.Error(err)
	}
}

// A signature with no key is one that anybody can make.
func TestAnEmptyKeyDoesNotSign(t *testing.T) {
	r := newReceiver(t)
	p := r.open(t)
	p.options.Reveal = func(context.Context, secret.Ref) (secret.Text, error) { return secret.New(hook.SecretPrefix), nil }
	if err := p.Publish(t.Context(), []event.Sealed{{ID: "a", Bytes: []byte("{}")}})[0]; err == nil || outboxtest.IsRefusal(err) || r.headers != nil {
		t.Error(err, r.headers)
	}
}

func TestTheRequestIsACloudEvent(t *testing.T) {
	r := newReceiver(t)
	if err := r.open(t).Publish(t.Context(), []event.Sealed{{ID: "a", Bytes: []byte("{}")}})[0]; err != nil {
		t.Fatal(err)
	}
	if got := r.headers.Get("Content-Type"); got != "application/cloudevents+json; charset=utf-8" {
		t.Error(got)
	}
}
