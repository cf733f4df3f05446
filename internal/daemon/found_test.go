package daemon

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/inspect"
	"github.com/patra-ingest/patra/internal/upsim"
)

// found returns the finding of a code, nil if there is none.
func (l *library) found(code view.FindingCode) *view.Finding {
	l.Helper()
	s, err := l.app.Inspect.Status(l.Context(), inspect.StatusQuery{})
	l.must(err)
	if i := slices.IndexFunc(s.Findings, func(f view.Finding) bool { return f.Code == code }); i >= 0 {
		return &s.Findings[i]
	}
	return nil
}

// backfill reads a range again.
func (l *library) backfill(from, to time.Time) {
	l.Helper()
	c := l.compileFor(ingest.Backfill, "paging.size=200")
	plan, _, err := l.app.Planner.Plan(l.Context(), c, NewRequest(l.now, &from, &to))
	l.must(err)
	done, err := l.app.Work(l.Context(), plan.ID, nil)
	l.must(err)
	if done.Status != "COMPLETED" || done.Done == 0 {
		l.Fatalf("%+v", done)
	}
}

// A day of which a reading brought far less than the weekday usually has is found, and no more
// when it was read again.
func TestStatusTellsOfAThinDay(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		begin := time.Date(2025, 1, 27, 0, 0, 0, 0, time.UTC)
		l := newLibrary(t, database, upsim.Config{Seed: 7, From: begin, To: begin.AddDate(0, 0, 42), PerDay: 150, Flat: true}, "")
		l.now = begin.AddDate(0, 0, 42).Add(12 * time.Hour)
		c := l.compile("paging.size=200")
		l.harvest(c, &begin)
		if f := l.found(view.FoundThin); f != nil {
			t.Fatalf("all is there: %+v", f)
		}
		thin := begin.AddDate(0, 0, 38)
		l.exec("UPDATE ing_window_history SET actual = 3 WHERE window_from = ?", thin.UnixMicro())
		f := l.found(view.FoundThin)
		if f == nil || len(f.Thin) != 1 || !f.Thin[0].Window.From.Equal(thin) || f.Thin[0].Items != 3 || f.Thin[0].Usual < 100 || f.Severity != view.Warning {
			t.Fatalf("%+v", f)
		}
		if want := "patra coverage reconcile crossref --from 2025-03-06 --to 2025-03-07"; f.Next != want {
			t.Errorf("%q, want %q", f.Next, want)
		}
		l.backfill(thin, thin.AddDate(0, 0, 1))
		if f := l.found(view.FoundThin); f != nil {
			t.Errorf("it was read again: %+v", f)
		}
	})
}

// What an upstream counted beyond what was read is found until it was read again; a thin day
// that was compared is told by that alone, or not at all where the upstream has no more.
func TestStatusTellsOfAShortfall(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		begin := time.Date(2025, 1, 27, 0, 0, 0, 0, time.UTC)
		l := newLibrary(t, database, upsim.Config{Seed: 7, From: begin, To: begin.AddDate(0, 0, 42), PerDay: 150, Flat: true}, "")
		l.now = begin.AddDate(0, 0, 42).Add(12 * time.Hour)
		l.harvest(l.compile("paging.size=200"), &begin)
		day := begin.AddDate(0, 0, 38)
		l.exec("UPDATE ing_window_history SET actual = 3 WHERE window_from = ?", day.UnixMicro())
		if l.found(view.FoundThin) == nil {
			t.Fatal("a thin day is not found")
		}
		compare := func() {
			t.Helper()
			c := l.compile("paging.size=200")
			src, err := Bundled("crossref")
			l.must(err)
			covered, err := l.app.Inspect.CoverageOf(t.Context(), src)
			l.must(err)
			got, err := l.app.Inspect.Reconcile(t.Context(), covered.All[0], inspect.ReconcileQuery{Within: window.Window{From: day, To: day.AddDate(0, 0, 2)}, By: inspect.Day, Most: 10, With: c})
			l.must(err)
			l.must(l.app.Cursors.NoteCounts(t.Context(), got.Checks))
		}
		compare()
		f := l.found(view.FoundShortfall)
		if f == nil || len(f.Short) != 1 || !f.Short[0].Window.From.Equal(day) || f.Count < 100 || f.Severity != view.Critical || f.Since.IsZero() {
			t.Fatalf("%+v", f)
		}
		if want := "patra backfill crossref --endpoint works --from 2025-03-06 --to 2025-03-07 --name recount-"; !strings.HasPrefix(f.Next, want) {
			t.Errorf("%q, want %q", f.Next, want)
		}
		if l.found(view.FoundThin) != nil {
			t.Error("one cause is two findings")
		}
		l.backfill(day, day.AddDate(0, 0, 1))
		if f := l.found(view.FoundShortfall); f != nil {
			t.Errorf("it was read again: %+v", f)
		}
		l.exec("UPDATE ing_window_history SET actual = 4 WHERE window_from = ?", day.UnixMicro())
		if f := l.found(view.FoundShortfall); f == nil || !f.Short[0].ReadAgain || !strings.HasPrefix(f.Next, "patra coverage reconcile crossref --from 2025-03-06") {
			t.Errorf("read again, with too little: %+v", f)
		}
		l.exec("UPDATE ing_count_check SET verdict_code = 'OK', items_read = 4, upstream = 4, checked_at = checked_at + 1000000000") // the upstream has no more
		if l.found(view.FoundShortfall) != nil || l.found(view.FoundThin) != nil {
			t.Error("what the upstream confirms is a finding")
		}
	})
}
