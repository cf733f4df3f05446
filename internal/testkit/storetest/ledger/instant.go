package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// edges are instants that one column type or another cannot hold (D§5.21).
var edges = []time.Time{
	time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC),
	time.Date(1000, 1, 1, 0, 0, 0, 1000, time.UTC),
	time.Date(1809, 2, 12, 6, 7, 8, 123456000, time.UTC),
	time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC),
	time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), // stored as 0, which is not "none"
	time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC),
	time.Date(2100, 2, 28, 23, 59, 59, 999999000, time.UTC),
	time.Date(9999, 12, 31, 23, 59, 59, 999998000, time.UTC),
	time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC),
}

func (s suite) instants(t *testing.T) {
	s.test(t, "records keep them", func(w *world) {
		w.Plan(fixture.Harvest{})
		a := w.Begin(fixture.Harvest{})
		for i, at := range edges {
			id := fmt.Sprint("id-", i)
			in := fixture.Item(id, "x", at)
			in.FetchAt = at
			a.Commit(in)
			if got, _ := w.Record(id); !got.Updated.Valid || got.Stamp() != at || got.Fetched != at.UnixMicro() {
				w.Errorf("%v came back as %v, fetched %d", at, got.Stamp(), got.Fetched)
			}
			if got := a.Commit(in); got.Stats.Unchanged != 1 {
				w.Errorf("%v: the same record again: %+v", at, got.Stats)
			}
		}
	})
	s.test(t, "windows, events, coverage and cursor keep them", func(w *world) {
		for i := range edges[1:] {
			h := fixture.Harvest{Source: fmt.Sprint("source-", i), Days: 1}
			span := window.Window{From: edges[i], To: edges[i+1]}
			w.planOver(h, span)
			a := w.Begin(h)
			if a.Work.Window != span || a.Work.AsOf != edges[8] {
				w.Errorf("work has %v as of %v, want %v", a.Work.Window, a.Work.AsOf, span)
			}
			o := fixture.Succeeded
			o.Observed = span.From
			a.Finish(o)
			w.spanIs(h, span)
			if got := w.lastRun(a).Window; got != span {
				w.Errorf("run has %v, want %v", got, span)
			}
		}
	})
	s.test(t, "what is finer than a microsecond is cut", func(w *world) {
		for i, year := range []int{1000, 1809, 1969, 2025, 2100, 9999} {
			h := fixture.Harvest{Source: fmt.Sprint("source-", i), Days: 1}
			fine := window.Window{
				From: time.Date(year, 3, 1, 0, 0, 0, 1999, time.UTC), To: time.Date(year, 12, 31, 23, 59, 59, 999999999, time.UTC),
			}
			cut := window.Window{From: time.Date(year, 3, 1, 0, 0, 0, 1000, time.UTC), To: time.Date(year, 12, 31, 23, 59, 59, 999999000, time.UTC)}
			w.planOver(h, fine)
			a := w.Begin(h)
			if a.Work.Window != cut {
				w.Errorf("work has %v, want %v", a.Work.Window, cut)
			}
			a.Commit(fixture.Item(h.Source, "x", fine.To))
			if got, _ := w.Record(h.Source); got.Stamp() != cut.To {
				w.Errorf("record of %v came back as %v", fine.To, got.Stamp())
			}
			o := fixture.Succeeded
			o.Observed = fine.From
			a.Finish(o)
			w.spanIs(h, cut)
		}
	})
	s.test(t, "a zone of the caller makes no difference", func(w *world) {
		zone := time.FixedZone("far", 11*3600)
		h := fixture.Harvest{Days: 1}
		span := fixture.March(1, 2)
		w.planOver(h, window.Window{From: span.From.In(zone), To: span.To.In(zone)})
		a := w.Begin(h)
		a.Commit(fixture.Item("id", "x", fixture.Noon.In(zone)))
		if got, _ := w.Record("id"); got.Stamp() != fixture.Noon {
			w.Errorf("stamp %v", got.Stamp())
		}
		o := fixture.Succeeded
		o.Observed = span.From.In(zone)
		a.Finish(o)
		w.spanIs(h, span)
	})
	s.test(t, "a lookback comes back to the microsecond", func(w *world) {
		for i, lookback := range []time.Duration{time.Microsecond, 1000001 * time.Microsecond, 36 * time.Hour, 100*365*fixture.Day + time.Microsecond} {
			h := fixture.Harvest{Source: fmt.Sprint("source-", i), Lookback: lookback}
			w.Plan(h)
			if got := w.CoverageOf(h).Lookback; got != lookback {
				w.Errorf("lookback %v came back as %v", lookback, got)
			}
			if got := w.Events(h)[0].Lookback; got != lookback {
				w.Errorf("lookback %v is %v in the event", lookback, got)
			}
		}
	})
}

// planOver stores a plan of one slice over any window.
func (w *world) planOver(h fixture.Harvest, span window.Window) {
	w.Helper()
	id, err := w.Store.RecordTrigger(w.Ctx, h.NewTrigger())
	w.Must(err)
	in := h.NewPlan(id)
	in.Window, in.Owed, in.AsOf = span, []window.Window{span}, edges[len(edges)-1]
	plan, _, err := w.Store.OpenPlan(w.Ctx, in)
	w.Must(err)
	slice := h.NewSlices()[0]
	slice.Window, slice.Signature = span, fingerprint.Key(span.String())
	w.Must(w.Store.AddSlices(w.Ctx, plan.ID, []ingest.NewSlice{slice}, true))
}

// spanIs checks that a finished window is found exact wherever it is kept.
func (w *world) spanIs(h fixture.Harvest, span window.Window) {
	w.Helper()
	book := w.CoverageOf(h)
	if book.Origin != span.From || book.Cursor != span.To || len(book.Segments) != 1 || book.Segments[0].Window != span {
		w.Errorf("book %+v, want %v done", book, span)
	}
	cursor, err := w.Store.Cursor(w.Ctx, w.CursorID(h))
	w.Must(err)
	if cursor.Instant != span.To || cursor.Value != window.Text(span.To) || cursor.Origin != span.From || cursor.ObservedMax != window.Text(span.From) {
		w.Errorf("cursor %+v, want %v", cursor, span)
	}
	for _, e := range w.Events(h) {
		if len(e.Windows) != 1 || e.Windows[0] != span {
			w.Errorf("%s event over %v, want %v", e.Kind, e.Windows, span)
		}
		if e.Kind == coverage.Succeeded && (e.New != window.Text(span.To) || e.Prev != window.Text(span.From)) {
			w.Errorf("event moved %s to %s", e.Prev, e.New)
		}
	}
	plans, err := w.Store.Plans(w.Ctx, view.Filter{Source: h.Filled().Source})
	w.Must(err)
	if len(plans) != 1 || plans[0].Window == nil || *plans[0].Window != span {
		w.Errorf("plans %+v, want %v", plans, span)
	}
	w.Verified(h)
}
