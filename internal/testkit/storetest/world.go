package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// world is a migrated database with one handle, a clock that stands still
// unless moved, and a wire that can lose answers.
type world struct {
	*testing.T
	ctx    context.Context
	db     Database
	store  *store.Store
	clock  *clock
	wire   *wire
	by     ingest.Act // who operates
	serial int
}

// noon is where every world's clock starts.
var noon = time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC)

func (s suite) world(t *testing.T) *world {
	t.Helper()
	if s.migrated != nil {
		return newWorld(t, s.migrated(t))
	}
	w := newWorld(t, s.empty(t))
	if _, err := w.store.Migrate(w.ctx); err != nil {
		t.Fatalf("migrate: %v", err)
	}
	return w
}

func newWorld(t *testing.T, db Database) *world {
	t.Helper()
	w := &world{T: t, ctx: t.Context(), db: db, clock: &clock{now: noon}, wire: &wire{}, by: tester}
	w.store = w.handle()
	return w
}

// handle opens the world's database once more, as another process would.
func (w *world) handle() *store.Store {
	w.Helper()
	return w.db.Open(w.T, store.Options{Clock: w.clock.read, AfterCommit: w.wire.deliver})
}

// handles are n stores on the database, the world's own among them.
func (w *world) handles(n int) []*store.Store {
	out := []*store.Store{w.store}
	for len(out) < n {
		out = append(out, w.handle())
	}
	return out
}

// must ends the test on an error.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// refuses expects an error of one kind.
func (w *world) refuses(err, kind error, what string) {
	w.Helper()
	if !errors.Is(err, kind) {
		w.Errorf("%s: got error %v, want one of kind %q", what, err, kind)
	}
}

// exec goes round the store.
func (w *world) exec(query string, args ...any) int64 {
	w.Helper()
	result, err := w.db.SQL.ExecContext(w.ctx, query, args...)
	w.must(err)
	n, err := result.RowsAffected()
	w.must(err)
	return n
}

// number reads one integer round the store; NULL is an error.
func (w *world) number(query string, args ...any) (n int64) {
	w.Helper()
	if err := w.db.SQL.QueryRowContext(w.ctx, query, args...).Scan(&n); err != nil {
		w.Fatalf("%s: %v", query, err)
	}
	return n
}

// text reads one text round the store; NULL is an error.
func (w *world) text(query string, args ...any) (text string) {
	w.Helper()
	if err := w.db.SQL.QueryRowContext(w.ctx, query, args...).Scan(&text); err != nil {
		w.Fatalf("%s: %v", query, err)
	}
	return text
}

// unique is a text no other call in this world gives.
func (w *world) unique(prefix string) string {
	w.serial++
	return fmt.Sprintf("%s-%d", prefix, w.serial)
}

// clock is the store's clock in tests: it moves when told.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = at
}

var errLost = errors.New("the answer got lost")

// wire carries the store's answers and loses one when told: the step was
// committed and its caller hears of a failure.
type wire struct {
	mu   sync.Mutex
	lose string
	lost int
}

func (w *wire) loseNext(step string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose = step
}

func (w *wire) deliver(step string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lose == "" || step != w.lose {
		return nil
	}
	w.lose = ""
	w.lost++
	return errLost
}

// together runs n bodies at once and reports the first error of each.
func (w *world) together(n int, body func(i int) error) {
	w.Helper()
	start := make(chan struct{})
	failures := make(chan error, n)
	for i := range n {
		go func() {
			<-start
			failures <- body(i)
		}()
	}
	close(start)
	for range n {
		if err := <-failures; err != nil {
			w.Error(err)
		}
	}
}
