package outbox_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/outbox"
	"github.com/patra-ingest/patra/internal/testkit/outboxtest"
)

var errKilled = errors.New("killed")

// mortal is the store of a process that dies: from then on nothing it does reaches
// the database, neither what it published nor that it gives its lease back.
type mortal struct {
	*store.Store
	left atomic.Int64 // settlements before it dies
	dead atomic.Bool
}

func (m *mortal) SettleEvents(ctx context.Context, s event.Settlement) error {
	if m.left.Add(-1) < 0 {
		m.dead.Store(true)
		return errKilled
	}
	return m.Store.SettleEvents(ctx, s)
}

func (m *mortal) ReleaseLease(ctx context.Context, name, owner string, epoch int64) error {
	if m.dead.Load() {
		return errKilled
	}
	return m.Store.ReleaseLease(ctx, name, owner, epoch)
}

func onEveryDatabase(t *testing.T, test func(w *world)) {
	for _, kind := range []string{"sqlite", "mariadb"} {
		t.Run(kind, func(t *testing.T) { test(newWorld(t, kind)) })
	}
}

// F46, I9: eight relays at once, of which some die between publishing and marking, some are
// slow enough to lose their lease, and whose receiver is away now and then, takes
// events and says that it did not, or refuses some.
func TestOrderPerKeyUnderEightRelays(t *testing.T) {
	onEveryDatabase(t, func(w *world) {
		seed := rand.Uint64()
		w.Logf("seed %d", seed)
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(seed, 1))
		chance := func(n int) bool {
			mu.Lock()
			defer mu.Unlock()
			return random.IntN(n) == 0
		}
		w.fault = func(e event.Sealed) error {
			switch {
			case chance(200):
				w.advance(2 * lease) // whoever works has lost its lease
			case chance(40):
				return errAway
			case chance(40):
				return errAnswerLost
			case chance(40):
				return event.ErrRefused
			}
			return nil
		}
		handles := []*store.Store{w.store, w.open(), w.open()}
		var want []string
		var fixtures []*outboxtest.Fixture
		for _, source := range []string{"one", "two", "three"} {
			fixtures = append(fixtures, outboxtest.NewFixture(w.T, w.store, source))
		}
		for round := range 6 {
			var relaying sync.WaitGroup
			for i := range 8 {
				m := &mortal{Store: handles[(round+i)%len(handles)]}
				m.left.Store(int64(i)) // the first dies at once
				relaying.Go(func() {
					r := w.relay(m, outbox.Config{Chunk: 5})
					for range 3 {
						if _, err := r.Once(w.Context()); err != nil && !errors.Is(err, errKilled) {
							w.Error(err)
						}
						if m.dead.Load() {
							return
						}
					}
				})
			}
			for _, f := range fixtures { // while they work
				f.Commit(6)
				f.Commit(6)
			}
			relaying.Wait()
			w.advance(2 * lease)
		}
		w.fault = nil
		for range 20 { // what failed becomes due
			w.drain(outbox.Config{})
			w.advance(10 * lease)
		}
		for _, f := range fixtures {
			want = append(want, f.Events()...)
		}
		if dead := w.count(event.Dead); dead > 0 { // refused five times by chance
			w.Logf("%d are dead", dead)
			w.revive()
		}
		outboxtest.Delivered(w.T, w.received, want)
		w.countsAre(map[event.Status]int{event.Published: len(want)})
		if len(w.received) == len(want) {
			w.Error("nothing came twice: the relays were not disturbed")
		}
	})
}

// F46: the relay dies after publishing and before marking: the next one publishes the
// same again, with equal bytes.
func TestKilledBetweenPublishAndMark(t *testing.T) {
	onEveryDatabase(t, func(w *world) {
		f := outboxtest.NewFixture(w.T, w.store, "crossref")
		f.Commit(10)
		f.Commit(10)
		m := &mortal{Store: w.store}
		if _, err := w.relay(m, outbox.Config{}).Once(w.Context()); !errors.Is(err, errKilled) {
			w.Fatal(err)
		}
		if n := len(w.received); n != 20 || w.count(event.Pending) != 20 {
			w.Fatalf("%d were published, %d wait", n, w.count(event.Pending))
		}
		if n := w.drain(outbox.Config{}); n != 0 {
			w.Fatalf("%d were settled under the lease of another", n)
		}
		w.advance(2 * lease)
		w.drain(outbox.Config{})
		if len(w.received) != 40 {
			w.Errorf("%d were published", len(w.received))
		}
		outboxtest.Delivered(w.T, w.received, f.Events())
		w.countsAre(map[event.Status]int{event.Published: 20})
	})
}
