package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/record"
)

// candidatesAre checks the count of a harvest's dataset.
func (w *world) candidatesAre(h harvest, before time.Time, want int64) {
	w.Helper()
	got, exact, err := w.store.Candidates(w.ctx, h.partition().Dataset, before)
	w.must(err)
	if got != want || !exact {
		w.Errorf("%d candidates before %s (exact: %v), want %d", got, before.Format(time.RFC3339), exact, want)
	}
}

func (s suite) candidates(t *testing.T) {
	h, other := harvest{}, harvest{source: "other"}
	s.test(t, "records count from when they were last looked at", func(w *world) {
		w.candidatesAre(h, noon, 0) // nobody ever stored anything
		w.plan(h)
		w.candidatesAre(h, noon, 0)
		stamp := midnight(2) // fetched an hour later, see item
		w.begin(h).commit(item("a", "x", stamp), item("b", "x", stamp), item("c", "x", stamp.Add(time.Minute)))
		fetched := stamp.Add(time.Hour)
		w.candidatesAre(h, fetched, 0)
		w.candidatesAre(h, fetched.Add(time.Microsecond), 2)
		w.candidatesAre(h, noon, 3)
		w.exec("UPDATE ing_record SET refresh_checked_at = ? WHERE provider_id = ?", noon.UnixMicro(), "a")
		w.candidatesAre(h, noon, 2)
		w.candidatesAre(h, noon.Add(time.Hour), 3)
	})
	s.test(t, "what is gone is not looked at again, and other datasets do not count", func(w *world) {
		w.plan(h)
		w.plan(other)
		a := w.begin(h)
		a.commit(item("a", "x", midnight(2)), item("b", "x", midnight(2)))
		a.commit(gone("b", midnight(3)))
		w.begin(other).commit(item("a", "x", midnight(2)))
		w.candidatesAre(h, noon, 1)
		w.candidatesAre(other, noon, 1)
	})
	s.test(t, "more than one page", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		const pages, size = 21, 500
		for p := range pages {
			var batch []record.Incoming
			for i := range size {
				batch = append(batch, item(fmt.Sprintf("%d-%d", p, i), "x", midnight(2)))
			}
			a.commit(batch...)
		}
		w.candidatesAre(h, noon, pages*size)
	})
}

func (s suite) pace(t *testing.T) {
	s.test(t, "bytes of an item, over what was read to its end", func(w *world) {
		bytesAre := func(h harvest, want int64) {
			w.Helper()
			got, err := w.store.BytesPerItem(w.ctx, h.partition().Dataset)
			w.must(err)
			if got != want {
				w.Errorf("%d bytes an item, want %d", got, want)
			}
		}
		h := harvest{days: 3}
		bytesAre(h, 0)
		w.plan(h)
		for _, c := range []struct {
			items int
			bytes int64
			want  int64
		}{{0, 900, 0}, {10, 1000, 100}, {40, 4001, 101}} {
			o := foundItems(c.items, 0, 0)
			o.Stats.BytesIn = c.bytes
			w.begin(h).finish(o)
			bytesAre(h, c.want)
		}
		bytesAre(harvest{source: "other"}, 0)
	})
	s.test(t, "the last task that waits for its time", func(w *world) {
		lastIs := func(h harvest, want time.Time) {
			w.Helper()
			got, err := w.store.LastDue(w.ctx, h.partition())
			w.must(err)
			if !got.Equal(want) {
				w.Errorf("last due at %v, want %v", got, want)
			}
		}
		lastIs(harvest{}, time.Time{})
		w.plan(harvest{})
		lastIs(harvest{}, time.Time{})
		later := noon.Add(3 * time.Hour)
		w.plan(harvest{trigger: "soon", due: noon.Add(time.Hour)})
		w.plan(harvest{trigger: "later", due: later})
		w.plan(harvest{source: "other", due: later.Add(time.Hour)})
		lastIs(harvest{}, later)
		w.clock.set(later)
		w.promotes(100, 6)
		lastIs(harvest{}, time.Time{})
	})
}
