package storetest

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

func (s suite) stock(t *testing.T) {
	s.test(t, "counts what waits, due or not, and nothing else", func(w *world) {
		h := harvest{days: 9}
		w.stockIs(h, 0) // nobody ever planned for this partition
		w.plan(h)
		w.stockIs(h, 9)
		w.plan(harvest{trigger: "later", first: 10, days: 4, due: noon.Add(time.Hour)})
		w.stockIs(h, 13)
		w.claim(h, 1)
		w.begin(h)
		w.work(h, succeeded, failed, partial, cancelled)
		w.stockIs(h, 7)
		w.work(h, again, later)
		w.stockIs(h, 7)
		w.clock.set(noon.Add(2 * time.Hour))
		w.promotes(10, 5)
		w.stockIs(h, 7)
	})
	s.test(t, "counts one partition only", func(w *world) {
		w.plan(harvest{days: 2})
		w.plan(harvest{source: "other", days: 5})
		w.plan(harvest{operation: ingest.Backfill, days: 3})
		w.stockIs(harvest{}, 2)
		w.stockIs(harvest{source: "other"}, 5)
		w.stockIs(harvest{operation: ingest.Backfill}, 3)
		w.stockIs(harvest{operation: ingest.Update}, 0)
	})
}

// stockIs checks the count and every threshold around it.
func (w *world) stockIs(h harvest, want int) {
	w.Helper()
	got, err := w.store.Stock(w.ctx, h.partition())
	w.must(err)
	if got != want {
		w.Errorf("stock %d, want %d", got, want)
	}
	for n := -1; n <= want+2; n++ {
		reached, err := w.store.StockAtLeast(w.ctx, h.partition(), n)
		w.must(err)
		if reached != (want >= n) {
			w.Errorf("stock of %d: at least %d is %v", want, n, reached)
		}
	}
}
