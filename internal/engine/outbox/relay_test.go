package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/outbox"
	"github.com/patra-ingest/patra/internal/testkit/outboxtest"
)

// revive tries everything again that is dead.
func (w *world) revive() {
	w.Helper()
	for _, source := range []string{"one", "two", "three", "crossref"} {
		_, _, err := w.store.RetryEvents(w.Context(), event.Pick{Source: source}, ingest.Act{Actor: "tester", Reason: "because"})
		w.must(err)
	}
	w.drain(outbox.Config{})
}

func subjectOf(e event.Sealed) string {
	var is struct{ Subject string }
	_ = json.Unmarshal(e.Bytes, &is)
	return is.Subject
}

// F45: an event that is refused holds up its own record only: five times, then it is
// dead, until an operator has seen to it.
func TestPoisonIsParked(t *testing.T) {
	w := newWorld(t, "sqlite")
	f := outboxtest.NewFixture(t, w.store, "crossref")
	w.fault = func(e event.Sealed) error {
		if subjectOf(e) == "10.1000/3" {
			return fmt.Errorf("%w: status 422", event.ErrRefused)
		}
		return nil
	}
	f.Commit(5)
	f.Commit(5)
	w.drain(outbox.Config{})
	w.countsAre(map[event.Status]int{event.Published: 8, event.Failed: 2})
	for range event.MaxAttempts {
		w.advance(10 * time.Minute)
		w.drain(outbox.Config{})
	}
	f.Commit(5) // one more version behind it
	w.drain(outbox.Config{})
	w.countsAre(map[event.Status]int{event.Published: 12, event.Failed: 2, event.Dead: 1})
	rows, err := w.store.Outgoing(t.Context(), view.Filter{Limit: 1}, event.Dead)
	w.must(err)
	if rows[0].Attempts != event.MaxAttempts || rows[0].ErrorCode != "REFUSED" || !strings.Contains(rows[0].Error, "422") {
		t.Errorf("%+v", rows[0])
	}
	w.fault = nil
	w.drain(outbox.Config{})
	w.countsAre(map[event.Status]int{event.Published: 12, event.Failed: 2, event.Dead: 1}) // nobody has seen to it
	w.revive()
	w.countsAre(map[event.Status]int{event.Published: 15})
	outboxtest.Delivered(t, w.received, f.Events())
}

// A dead event that is given up lets those behind it go on.
func TestDiscardedPoisonLetsTheRestGoOn(t *testing.T) {
	w := newWorld(t, "sqlite")
	f := outboxtest.NewFixture(t, w.store, "crossref")
	f.Commit(1)
	f.Commit(1)
	w.fault = func(event.Sealed) error { return event.ErrTooLarge }
	w.drain(outbox.Config{})
	w.countsAre(map[event.Status]int{event.Dead: 1, event.Failed: 1}) // one that is too large is not tried again
	w.fault = nil
	_, _, err := w.store.DiscardEvents(t.Context(), event.Pick{Source: "crossref"}, ingest.Act{Actor: "tester", Reason: "because"})
	w.must(err)
	w.drain(outbox.Config{})
	w.countsAre(map[event.Status]int{event.Skipped: 1, event.Published: 1})
}

// F45: a receiver that is down for an hour, and longer, costs no event and no attempt.
func TestAReceiverThatIsAwayCostsNoAttempts(t *testing.T) {
	w := newWorld(t, "sqlite")
	f := outboxtest.NewFixture(t, w.store, "crossref")
	f.Commit(30)
	w.fault = func(event.Sealed) error { return errAway }
	for range 20 {
		if n := w.drain(outbox.Config{}); n != 0 {
			t.Fatalf("%d were settled", n)
		}
		w.advance(time.Hour)
	}
	w.countsAre(map[event.Status]int{event.Pending: 30})
	log, err := w.store.Deliveries(t.Context(), view.Filter{Limit: 1})
	w.must(err)
	if log[0].Status != string(event.Deferred) || log[0].ErrorCode != "UNREACHABLE" || !strings.Contains(log[0].Error, errAway.Error()) {
		t.Errorf("%+v", log[0])
	}
	w.fault = nil
	w.drain(outbox.Config{})
	outboxtest.Delivered(t, w.received, f.Events())
}

// One relay leaves a lane alone while its receiver is in trouble.
func TestTroubleIsWaitedFor(t *testing.T) {
	w := newWorld(t, "sqlite")
	outboxtest.NewFixture(t, w.store, "crossref").Commit(3)
	asked := 0
	w.fault = func(event.Sealed) error { asked++; return errAway }
	r := w.relay(w.store, outbox.Config{})
	for range 10 {
		if _, err := r.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 3 {
		t.Errorf("the receiver was asked %d times for 3 events", asked)
	}
}

// A receiver that wants nothing is broken itself: no event is marked for it.
func TestAReceiverThatRefusesEverything(t *testing.T) {
	w := newWorld(t, "sqlite")
	f := outboxtest.NewFixture(t, w.store, "crossref")
	f.Commit(30)
	w.fault = func(event.Sealed) error { return event.ErrRefused }
	for range 10 {
		w.drain(outbox.Config{})
		w.advance(time.Hour)
	}
	w.countsAre(map[event.Status]int{event.Pending: 30})
	w.fault = nil
	w.drain(outbox.Config{})
	outboxtest.Delivered(t, w.received, f.Events())
}

func TestRoutes(t *testing.T) {
	w := newWorld(t, "sqlite")
	f := outboxtest.NewFixture(t, w.store, "crossref")
	for range 3 {
		f.Commit(4)
	}
	second := &world{T: t}
	route := func(_, _ string, op event.Op) (string, bool) {
		return map[event.Op]string{event.Inserted: "first", event.Removed: "second"}[op], op != event.Updated
	}
	r := outbox.New(w.store, route, map[string]outbox.Destination{"first": {Publisher: w}, "second": {Publisher: second}}, outbox.Config{Owner: "r"}, slog.New(slog.DiscardHandler))
	for range 3 {
		_, err := r.Once(t.Context())
		w.must(err)
	}
	if len(w.received) != 4 || len(second.received) != 2 {
		t.Errorf("%d and %d events", len(w.received), len(second.received))
	}
	w.countsAre(map[event.Status]int{event.Published: 6, event.Skipped: 6})
}

// A relay that is told to stop settles what was delivered.
func TestStopping(t *testing.T) {
	w := newWorld(t, "sqlite")
	f := outboxtest.NewFixture(t, w.store, "crossref")
	f.Commit(10)
	ctx, stop := context.WithCancel(t.Context())
	w.fault = func(event.Sealed) error { stop(); return nil }
	if err := w.relay(w.store, outbox.Config{}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	w.countsAre(map[event.Status]int{event.Published: 10})
	if _, held, err := w.store.AcquireLease(t.Context(), outbox.LeaseName(1), "another", lease); err != nil || !held {
		t.Errorf("the lease was not given back: %v, %v", held, err)
	}
}

func TestReplayedEventsHaveEqualBytes(t *testing.T) {
	w := newWorld(t, "sqlite")
	f := outboxtest.NewFixture(t, w.store, "crossref")
	f.Commit(5)
	f.Commit(5)
	w.drain(outbox.Config{})
	done, err := w.store.ReplayEvents(t.Context(), event.Replay{FromRow: 1, Begins: true}, 0, ingest.Act{Actor: "tester", Reason: "because"})
	w.must(err)
	if done.Events != 10 {
		t.Fatalf("%+v", done)
	}
	w.advance(time.Hour)
	w.drain(outbox.Config{})
	if len(w.received) != 20 {
		t.Errorf("%d deliveries", len(w.received))
	}
	outboxtest.Delivered(t, w.received, f.Events())
}
