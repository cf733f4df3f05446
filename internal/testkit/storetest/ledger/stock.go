package ledger

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) stock(t *testing.T) {
	s.test(t, "counts what waits, due or not, and nothing else", func(w *world) {
		h := fixture.Harvest{Days: 9}
		w.stockIs(h, 0) // nobody ever planned for this partition
		w.Plan(h)
		w.stockIs(h, 9)
		w.Plan(fixture.Harvest{Trigger: "later", First: 10, Days: 4, Due: fixture.Noon.Add(time.Hour)})
		w.stockIs(h, 13)
		w.Claim(h, 1)
		w.Begin(h)
		w.Work(h, fixture.Succeeded, fixture.Failed, fixture.Partial, fixture.Cancelled)
		w.stockIs(h, 7)
		w.Work(h, fixture.Again, fixture.Later)
		w.stockIs(h, 7)
		w.Clock.Set(fixture.Noon.Add(2 * time.Hour))
		w.promotes(10, 5)
		w.stockIs(h, 7)
	})
	s.test(t, "counts one partition only", func(w *world) {
		w.Plan(fixture.Harvest{Days: 2})
		w.Plan(fixture.Harvest{Source: "other", Days: 5})
		w.Plan(fixture.Harvest{Operation: ingest.Backfill, Days: 3})
		w.stockIs(fixture.Harvest{}, 2)
		w.stockIs(fixture.Harvest{Source: "other"}, 5)
		w.stockIs(fixture.Harvest{Operation: ingest.Backfill}, 3)
		w.stockIs(fixture.Harvest{Operation: ingest.Update}, 0)
	})
}

// stockIs checks the count and every threshold around it.
func (w *world) stockIs(h fixture.Harvest, want int) {
	w.Helper()
	got, err := w.Store.Stock(w.Ctx, h.Partition())
	w.Must(err)
	if got != want {
		w.Errorf("stock %d, want %d", got, want)
	}
	for n := -1; n <= want+2; n++ {
		reached, err := w.Store.StockAtLeast(w.Ctx, h.Partition(), n)
		w.Must(err)
		if reached != (want >= n) {
			w.Errorf("stock of %d: at least %d is %v", want, n, reached)
		}
	}
}
