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

// givenUp is what holds planning after a mend: tasks that were planned since, and failed.
func (s suite) givenUp(t *testing.T) {
	s.test(t, "counts tasks that were planned since and failed, of one partition", func(w *world) {
		h := fixture.Harvest{Days: 4}
		w.givenUpIs(h, time.Time{}, 0) // nobody ever planned for this partition
		w.Plan(h)
		before := w.Clock.Read()
		w.Work(h, fixture.Failed, fixture.Succeeded, fixture.Cancelled)
		w.Clock.Advance(time.Minute)
		later := fixture.Harvest{Trigger: "later", First: 10, Days: 3}
		w.Plan(later)
		w.Plan(fixture.Harvest{Source: "other", Days: 2})
		w.Work(h, fixture.Failed, fixture.Failed, fixture.Failed)
		w.Work(fixture.Harvest{Source: "other"}, fixture.Failed)
		w.givenUpIs(h, before.Add(-time.Second), 4)
		w.givenUpIs(h, before, 2) // the first of the three was planned before
		w.givenUpIs(h, w.Clock.Read(), 0)
		w.givenUpIs(fixture.Harvest{Operation: ingest.Update}, time.Time{}, 0)
	})
}

// givenUpIs checks every threshold around a count.
func (w *world) givenUpIs(h fixture.Harvest, planned time.Time, want int) {
	w.Helper()
	for n := 1; n <= want+2; n++ {
		reached, err := w.Store.GivenUpAtLeast(w.Ctx, h.Partition(), planned, n)
		w.Must(err)
		if reached != (want >= n) {
			w.Errorf("%d given up: at least %d is %v", want, n, reached)
		}
	}
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
