package ledger

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// foundItems ends a run that saw items.
func foundItems(seen, outside, duplicate int) ingest.Outcome {
	o := fixture.Succeeded
	o.Stats = ingest.RunStats{
		BatchStats: ingest.BatchStats{Seen: seen, Outside: outside, Duplicate: duplicate, Inserted: seen - outside - duplicate}, Requests: 7, BytesIn: 1 << 40,
	}
	return o
}

// past reads what is known of a harvest's windows.
func (w *world) past(h fixture.Harvest, within window.Window) []ingest.WindowCount {
	w.Helper()
	out, err := w.Store.WindowHistory(w.Ctx, h.Partition().Dataset, fingerprint.Key(fixture.Everything), within, 100)
	w.Must(err)
	items, err := w.Store.WindowItems(w.Ctx, h.Partition().Dataset, fingerprint.Key(fixture.Everything), within, 100)
	w.Must(err)
	wanted := ingest.WindowsWanted{Dataset: h.Partition().Dataset, Question: fingerprint.Key(fixture.Everything), Within: within}
	unknown := ingest.WindowsWanted{Dataset: ingest.Dataset{Source: "nobody", Endpoint: "works"}, Question: wanted.Question, Within: within}
	together, err := w.Store.WindowItemsOf(w.Ctx, []ingest.WindowsWanted{unknown, wanted, {Dataset: wanted.Dataset, Question: wanted.Question}, wanted}, 100)
	w.Must(err)
	if len(together) != 4 || len(together[0])+len(together[2]) != 0 || !slices.Equal(together[1], items) || !slices.Equal(together[3], items) {
		w.Errorf("asked together for %v\n%+v, alone\n%+v", within, together, items)
	}
	if first, err := w.Store.WindowItemsOf(w.Ctx, []ingest.WindowsWanted{wanted}, 1); err != nil || !slices.Equal(first[0], items[:min(len(items), 1)]) {
		w.Errorf("the first of %v: %+v %v", within, first, err)
	}
	for n, c := range out {
		if want := (ingest.WindowCount{Window: c.Window, Actual: c.Actual, AsOf: c.AsOf, RunID: c.RunID}); len(items) != len(out) || items[n] != want {
			w.Errorf("items of %v\n%+v, want\n%+v", within, items, out)
			break
		}
	}
	return out
}

func (w *world) pastIs(h fixture.Harvest, within window.Window, want ...ingest.WindowCount) {
	w.Helper()
	if got := w.past(h, within); len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
		w.Errorf("history of %v\n%+v, want\n%+v", within, got, want)
	}
}

func (s suite) windowHistory(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "a slice that was read leaves what it had", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Finish(foundItems(1000, 30, 5))
		want := ingest.WindowCount{Window: fixture.March(1, 2), Actual: 965, Requests: 7, Bytes: 1 << 40, AsOf: fixture.Noon, RunID: a.Run.ID}
		w.pastIs(h, fixture.March(1, 2), want)
		w.Unchanged("finished again", func() { a.Finish(foundItems(1000, 30, 5)) })
		w.pastIs(h, fixture.March(2, 3))
		w.pastIs(fixture.Harvest{Source: "other"}, fixture.March(1, 2))
		other, err := w.Store.WindowHistory(w.Ctx, h.Partition().Dataset, fingerprint.Key("another question"), fixture.March(1, 2), 100)
		w.Must(err)
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
			{`{"telemetry":{"estimate":{"count":1,"source":"` + fixture.Long("x", 100) + `"}}}`, number(1), fixture.Long("x", 31) + "…"},
		} {
			h := fixture.Harvest{Source: fmt.Sprintf("source%d", i), Days: 1}
			plan, chunk := w.Open(h), h.NewSlices()
			chunk[0].Spec = []byte(c.spec)
			w.Must(w.Store.AddSlices(w.Ctx, plan.ID, chunk, true))
			w.Work(h, foundItems(10, 0, 0))
			got := w.past(h, fixture.March(1, 2))
			if len(got) != 1 || !reflect.DeepEqual(got[0].Estimated, c.estimated) || got[0].EstimateSource != c.source || got[0].Actual != 10 {
				w.Errorf("%s: %+v", c.spec, got)
			}
		}
	})
	s.test(t, "only what was read to its end counts, and nothing is something", func(w *world) {
		for _, o := range []ingest.Outcome{fixture.Failed, fixture.Partial, fixture.Cancelled, fixture.Again, fixture.Later} {
			h := fixture.Harvest{Source: "source-" + string(o.Task), Days: 1}
			w.Plan(h)
			w.Work(h, o)
			w.pastIs(h, fixture.March(1, 2))
		}
		w.Plan(h)
		w.Work(h, foundItems(0, 0, 0))
		if got := w.past(h, fixture.March(1, 2)); len(got) != 1 || got[0].Actual != 0 {
			w.Errorf("an empty day left %+v", got)
		}
	})
	s.test(t, "windows of another date are no history", func(w *world) {
		update := fixture.Harvest{Operation: ingest.Update, Days: 1}
		w.Plan(update)
		w.Work(update, foundItems(10, 0, 0))
		w.pastIs(update, fixture.March(1, 2))
		backfill := fixture.Harvest{Operation: ingest.Backfill, Days: 1}
		w.Plan(backfill)
		w.Work(backfill, foundItems(10, 0, 0))
		if got := w.past(h, fixture.March(1, 2)); len(got) != 1 || got[0].Actual != 10 {
			w.Errorf("a backfill left %+v", got)
		}
	})
	s.test(t, "the newest reading counts, in whatever order they end", func(w *world) {
		for i, asOf := range []time.Duration{2 * time.Hour, time.Hour, 3 * time.Hour} {
			h := fixture.Harvest{Trigger: fmt.Sprint(i), Days: 1, AsOf: fixture.Noon.Add(asOf)}
			w.Plan(h)
			w.Work(h, foundItems(100*(i+1), 0, 0))
			got := w.past(h, fixture.March(1, 2))
			if want := []int64{100, 100, 300}[i]; len(got) != 1 || got[0].Actual != want {
				w.Errorf("after reading %d: %+v, want %d items", i, got, want)
			}
		}
	})
	s.test(t, "a slice read in several runs and passes is counted once", func(w *world) {
		w.Plan(h)
		first := w.Begin(h)
		lost := first.Page(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "x", fixture.Noon)) // a pass that was given up
		lost.RunStats = ingest.RunStats{Requests: 3, BytesIn: 100}
		first.Store(lost)
		kept := first.Page(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "x", fixture.Noon), fixture.Item("c", "x", fixture.Noon))
		kept.Pass, kept.Checkpoint.Pass, kept.RunStats = 2, 2, lost.RunStats
		kept.Seen, kept.Outside, kept.Duplicate = 7, 3, 1
		first.Store(kept)
		o := fixture.Again
		o.Stats.Requests, o.Stats.BytesIn = 3, 100
		first.Finish(o)
		second := w.Begin(h)
		end := second.Page(fixture.Item("d", "x", fixture.Noon))
		end.Pass, end.Checkpoint.Pass = 2, 2
		second.Store(end)
		o = fixture.Succeeded
		o.Stats = ingest.RunStats{BatchStats: ingest.BatchStats{Seen: 1, Inserted: 1}, Requests: 2, BytesIn: 50}
		second.Finish(o)
		w.pastIs(h, fixture.March(1, 2), ingest.WindowCount{Window: fixture.March(1, 2), Actual: 3 + 1, Requests: 5, Bytes: 150, AsOf: fixture.Noon, RunID: second.Run.ID})
	})
	s.test(t, "windows of all lengths that reach into a stretch are found, sorted", func(w *world) {
		var all []window.Window
		for i, length := range []time.Duration{time.Microsecond, time.Minute, 6 * time.Hour, fixture.Day, 9 * fixture.Day, 400 * fixture.Day} {
			for n := range 5 {
				from := fixture.Midnight(10).Add(time.Duration(n-4)*length + time.Duration(i)*time.Microsecond)
				all = append(all, window.Window{From: from, To: from.Add(length)})
			}
		}
		h := fixture.Harvest{Days: 400}
		in := h.NewPlan(1)
		in.Strategy, in.Owed = "TIME", slices.Clone(all)
		plan, _, err := w.Store.OpenPlan(w.Ctx, in)
		w.Must(err)
		var chunk []ingest.NewSlice
		for i, one := range all {
			c := fixture.Harvest{}.NewSlices()[0]
			c.No, c.Window, c.Signature = i+1, one, fingerprint.Key(one.String())
			c.TaskKey = fingerprint.Key(plan.Key, c.Signature)
			chunk = append(chunk, c)
		}
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, chunk, true))
		for range all {
			w.Work(h, foundItems(1, 0, 0))
		}
		for _, within := range []window.Window{
			fixture.March(10, 11), fixture.March(9, 10), fixture.March(10, 40), {From: fixture.Midnight(10), To: fixture.Midnight(10).Add(time.Microsecond)}, {From: fixture.Midnight(-2000), To: fixture.Midnight(-1900)},
			{From: fixture.Midnight(-2000), To: fixture.Midnight(4000)}, {From: fixture.Midnight(10), To: fixture.Midnight(10)}, {},
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
			few, err := w.Store.WindowHistory(w.Ctx, h.Partition().Dataset, fingerprint.Key(fixture.Everything), within, 2)
			w.Must(err)
			if len(few) != min(2, len(want)) || len(few) > 0 && few[0].Window != want[0] {
				w.Errorf("within %v: the first two of %v are %v", within, want, few)
			}
		}
	})
	s.test(t, "the same window read by several at once", func(w *world) {
		var attempts []*fixture.Attempt
		for i := range 6 {
			h := fixture.Harvest{Trigger: fmt.Sprint(i), Days: 1, AsOf: fixture.Noon.Add(time.Duration(i) * time.Minute)}
			if i%2 == 1 {
				h.Operation = ingest.Backfill
			}
			w.Plan(h)
			attempts = append(attempts, w.Begin(h))
		}
		handles := w.Handles(3)
		w.Together(len(attempts), func(i int) error {
			return handles[i%len(handles)].FinishRun(w.Ctx, attempts[i].Ending(foundItems(i+1, 0, 0)))
		})
		if got := w.past(h, fixture.March(1, 2)); len(got) != 1 || got[0].Actual != 6 {
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
