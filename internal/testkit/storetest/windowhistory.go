package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// foundItems ends a run that saw items.
func foundItems(seen, outside, duplicate int) ingest.Outcome {
	o := succeeded
	o.Stats = ingest.RunStats{
		BatchStats: ingest.BatchStats{Seen: seen, Outside: outside, Duplicate: duplicate, Inserted: seen - outside - duplicate}, Requests: 7, BytesIn: 1 << 40,
	}
	return o
}

// past reads what is known of a harvest's windows.
func (w *world) past(h harvest, within window.Window) []ingest.WindowCount {
	w.Helper()
	out, err := w.store.WindowHistory(w.ctx, h.partition().Dataset, fingerprint.Key(everything), within, 100)
	w.must(err)
	return out
}

func (w *world) pastIs(h harvest, within window.Window, want ...ingest.WindowCount) {
	w.Helper()
	if got := w.past(h, within); len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
		w.Errorf("history of %v\n%+v, want\n%+v", within, got, want)
	}
}

func (s suite) windowHistory(t *testing.T) {
	h := harvest{days: 1}
	s.test(t, "a slice that was read leaves what it had", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.finish(foundItems(1000, 30, 5))
		want := ingest.WindowCount{Window: march(1, 2), Actual: 965, Requests: 7, Bytes: 1 << 40, AsOf: noon, RunID: a.run.ID}
		w.pastIs(h, march(1, 2), want)
		w.unchanged("finished again", func() { a.finish(foundItems(1000, 30, 5)) })
		w.pastIs(h, march(2, 3))
		w.pastIs(harvest{source: "other"}, march(1, 2))
		other, err := w.store.WindowHistory(w.ctx, h.partition().Dataset, fingerprint.Key("another question"), march(1, 2), 100)
		w.must(err)
		if len(other) != 0 {
			w.Errorf("another question has the history %+v", other)
		}
	})
	s.test(t, "the estimate stands beside what came of it", func(w *world) {
		for i, c := range []struct {
			spec      string
			estimated *int64
			source    string
		}{
			{`{"telemetry":{"estimate":{"count":900,"source":"COUNT","exact":true}}}`, number(900), "COUNT"},
			{`{"telemetry":{"estimate":{"count":0,"source":"HISTORY"}}}`, number(0), "HISTORY"},
			{`{"telemetry":{"comment":"none"}}`, nil, ""},
			{`{"telemetry":{"estimate":"a lot"}}`, nil, ""},
			{`{"telemetry":{"estimate":{"count":1,"source":"` + long("x", 100) + `"}}}`, number(1), long("x", 31) + "…"},
		} {
			h := harvest{source: fmt.Sprintf("source%d", i), days: 1}
			plan, chunk := w.open(h), h.newSlices()
			chunk[0].Spec = []byte(c.spec)
			w.must(w.store.AddSlices(w.ctx, plan.ID, chunk, true))
			w.work(h, foundItems(10, 0, 0))
			got := w.past(h, march(1, 2))
			if len(got) != 1 || !reflect.DeepEqual(got[0].Estimated, c.estimated) || got[0].EstimateSource != c.source || got[0].Actual != 10 {
				w.Errorf("%s: %+v", c.spec, got)
			}
		}
	})
	s.test(t, "only what was read to its end counts, and nothing is something", func(w *world) {
		for _, o := range []ingest.Outcome{failed, partial, cancelled, again, later} {
			h := harvest{source: "source-" + string(o.Task), days: 1}
			w.plan(h)
			w.work(h, o)
			w.pastIs(h, march(1, 2))
		}
		w.plan(h)
		w.work(h, foundItems(0, 0, 0))
		if got := w.past(h, march(1, 2)); len(got) != 1 || got[0].Actual != 0 {
			w.Errorf("an empty day left %+v", got)
		}
	})
	s.test(t, "windows of another date are no history", func(w *world) {
		update := harvest{operation: ingest.Update, days: 1}
		w.plan(update)
		w.work(update, foundItems(10, 0, 0))
		w.pastIs(update, march(1, 2))
		backfill := harvest{operation: ingest.Backfill, days: 1}
		w.plan(backfill)
		w.work(backfill, foundItems(10, 0, 0))
		if got := w.past(h, march(1, 2)); len(got) != 1 || got[0].Actual != 10 {
			w.Errorf("a backfill left %+v", got)
		}
	})
	s.test(t, "the newest reading counts, in whatever order they end", func(w *world) {
		for i, asOf := range []time.Duration{2 * time.Hour, time.Hour, 3 * time.Hour} {
			h := harvest{trigger: fmt.Sprint(i), days: 1, asOf: noon.Add(asOf)}
			w.plan(h)
			w.work(h, foundItems(100*(i+1), 0, 0))
			got := w.past(h, march(1, 2))
			if want := []int64{100, 100, 300}[i]; len(got) != 1 || got[0].Actual != want {
				w.Errorf("after reading %d: %+v, want %d items", i, got, want)
			}
		}
	})
	s.test(t, "a slice read in several runs and passes is counted once", func(w *world) {
		w.plan(h)
		first := w.begin(h)
		lost := first.page(item("a", "x", noon), item("b", "x", noon)) // a pass that was given up
		lost.RunStats = ingest.RunStats{Requests: 3, BytesIn: 100}
		first.store(lost)
		kept := first.page(item("a", "x", noon), item("b", "x", noon), item("c", "x", noon))
		kept.Pass, kept.Checkpoint.Pass, kept.RunStats = 2, 2, lost.RunStats
		kept.Seen, kept.Outside, kept.Duplicate = 7, 3, 1
		first.store(kept)
		o := again
		o.Stats.Requests, o.Stats.BytesIn = 3, 100
		first.finish(o)
		second := w.begin(h)
		end := second.page(item("d", "x", noon))
		end.Pass, end.Checkpoint.Pass = 2, 2
		second.store(end)
		o = succeeded
		o.Stats = ingest.RunStats{BatchStats: ingest.BatchStats{Seen: 1, Inserted: 1}, Requests: 2, BytesIn: 50}
		second.finish(o)
		w.pastIs(h, march(1, 2), ingest.WindowCount{Window: march(1, 2), Actual: 3 + 1, Requests: 5, Bytes: 150, AsOf: noon, RunID: second.run.ID})
	})
	s.test(t, "windows of all lengths that reach into a stretch are found, sorted", func(w *world) {
		var all []window.Window
		for i, length := range []time.Duration{time.Microsecond, time.Minute, 6 * time.Hour, day, 9 * day, 400 * day} {
			for n := range 5 {
				from := midnight(10).Add(time.Duration(n-4)*length + time.Duration(i)*time.Microsecond)
				all = append(all, window.Window{From: from, To: from.Add(length)})
			}
		}
		h := harvest{days: 400}
		in := h.newPlan(1)
		in.Strategy, in.Owed = "TIME", slices.Clone(all)
		plan, _, err := w.store.OpenPlan(w.ctx, in)
		w.must(err)
		var chunk []ingest.NewSlice
		for i, one := range all {
			c := harvest{}.newSlices()[0]
			c.No, c.Window, c.Signature = i+1, one, fingerprint.Key(one.String())
			c.TaskKey = fingerprint.Key(plan.Key, c.Signature)
			chunk = append(chunk, c)
		}
		w.must(w.store.AddSlices(w.ctx, plan.ID, chunk, true))
		for range all {
			w.work(h, foundItems(1, 0, 0))
		}
		for _, within := range []window.Window{
			march(10, 11), march(9, 10), march(10, 40), {From: midnight(10), To: midnight(10).Add(time.Microsecond)}, {From: midnight(-2000), To: midnight(-1900)},
			{From: midnight(-2000), To: midnight(4000)}, {From: midnight(10), To: midnight(10)}, {},
		} {
			var want, got []window.Window
			for _, one := range all {
				if one.Overlaps(within) {
					want = append(want, one)
				}
			}
			for _, c := range w.past(h, within) {
				got = append(got, c.Window)
			}
			sortWindows(want)
			if !reflect.DeepEqual(got, want) {
				w.Errorf("within %v: %v, want %v", within, got, want)
			}
			few, err := w.store.WindowHistory(w.ctx, h.partition().Dataset, fingerprint.Key(everything), within, 2)
			w.must(err)
			if len(few) != min(2, len(want)) || len(few) > 0 && few[0].Window != want[0] {
				w.Errorf("within %v: the first two of %v are %v", within, want, few)
			}
		}
	})
	s.test(t, "the same window read by several at once", func(w *world) {
		var attempts []*attempt
		for i := range 6 {
			h := harvest{trigger: fmt.Sprint(i), days: 1, asOf: noon.Add(time.Duration(i) * time.Minute)}
			if i%2 == 1 {
				h.operation = ingest.Backfill
			}
			w.plan(h)
			attempts = append(attempts, w.begin(h))
		}
		handles := w.handles(3)
		w.together(len(attempts), func(i int) error {
			return handles[i%len(handles)].FinishRun(w.ctx, attempts[i].ending(foundItems(i+1, 0, 0)))
		})
		if got := w.past(h, march(1, 2)); len(got) != 1 || got[0].Actual != 6 {
			w.Errorf("history %+v, want the newest of six", got)
		}
	})
}

func number(n int64) *int64 { return &n }

func sortWindows(ws []window.Window) {
	for i := range ws {
		for j := i; j > 0 && (ws[j].From.Before(ws[j-1].From) || ws[j].From.Equal(ws[j-1].From) && ws[j].To.Before(ws[j-1].To)); j-- {
			ws[j], ws[j-1] = ws[j-1], ws[j]
		}
	}
}
