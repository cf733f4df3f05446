package outbox_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/mysql"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/engine/outbox"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/testkit/outboxtest"
)

// world is a database with a clock that moves when told, and a receiver.
type world struct {
	*testing.T
	open  func() *store.Store
	store *store.Store

	mu       sync.Mutex
	now      time.Time
	received []outboxtest.Message
	fault    func(e event.Sealed) error // what the receiver does with an event; nil: takes it
	serial   int
}

func newWorld(t *testing.T, kind string) *world {
	t.Helper()
	w := &world{T: t, now: time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC)}
	options := store.Options{Clock: w.clock}
	path, dsn := filepath.Join(t.TempDir(), "patra.db"), ""
	if kind == "mariadb" {
		dsn = mariadb.DSN(t)
	}
	w.open = func() *store.Store {
		var s *store.Store
		var err error
		if dsn != "" {
			s, err = mysql.Open(t.Context(), dsn, options)
		} else {
			s, err = sqlite.Open(t.Context(), sqlite.Config{Path: path, Relaxed: true}, options)
		}
		w.must(err)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	localstore.GiveTables(t, cmp.Or(dsn, "sqlite:"+path))
	w.store = w.open()
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

var errAway = errors.New("connection refused")

// Publish is the receiver: it may take an event and say that it did not.
func (w *world) Publish(_ context.Context, events []event.Sealed) []error {
	answers := make([]error, len(events))
	for i, e := range events {
		var took bool
		if w.fault == nil {
			took = true
		} else if answers[i] = w.fault(e); answers[i] == nil || errors.Is(answers[i], errAnswerLost) {
			took = true
		}
		if took {
			w.mu.Lock()
			w.received = append(w.received, outboxtest.Message{ID: e.ID, Bytes: append([]byte{}, e.Bytes...)})
			w.mu.Unlock()
		}
	}
	return answers
}

var errAnswerLost = errors.New("the answer was lost")

const lease = 15 * time.Second

// relay is a process of its own: it has forgotten what others had to wait for.
func (w *world) relay(s outbox.Store, c outbox.Config) *outbox.Relay {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial++
	c.Owner, c.Lease = fmt.Sprintf("relay-%d", w.serial), lease
	return outbox.New(s, func(string, string, event.Op) (string, bool) { return "to", true },
		map[string]outbox.Destination{"to": {Publisher: w}}, c, slog.New(slog.DiscardHandler))
}

// drain relays until nothing is done any more.
func (w *world) drain(c outbox.Config) (sum int) {
	w.Helper()
	for {
		n, err := w.relay(w.store, c).Once(w.Context())
		w.must(err)
		if sum += n; n == 0 {
			return sum
		}
	}
}

func (w *world) count(s event.Status) int {
	w.Helper()
	rows, err := w.store.Outgoing(w.Context(), view.Filter{Limit: 10000}, s)
	w.must(err)
	return len(rows)
}

func (w *world) countsAre(want map[event.Status]int) {
	w.Helper()
	for _, s := range []event.Status{event.Pending, event.Failed, event.Dead, event.Published, event.Skipped} {
		if got := w.count(s); got != want[s] {
			w.Errorf("%d events are %s, want %d", got, s, want[s])
		}
	}
}
