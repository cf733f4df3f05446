package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// lagging is a harvest of two days in which the second of three sectors was lost on both.
func (w *world) lagging() fixture.Harvest {
	h := fixture.Harvest{Days: 2, Sectors: []string{"set=cs", "set=math", "set=physics"}}
	w.Plan(h)
	w.Work(h, fixture.Succeeded, failed, fixture.Succeeded, fixture.Succeeded, failed, fixture.Succeeded)
	return h
}

// again is a later plan over the same days for some sectors.
func again(h fixture.Harvest, trigger string, few ...string) fixture.Harvest {
	h.Trigger, h.Sectors, h.Few, h.AsOf = trigger, few, true, fixture.Noon.Add(time.Hour)
	return h
}

// lags tells who lags on which days of March.
func (w *world) lags(h fixture.Harvest) string {
	w.Helper()
	all, err := w.Store.SectorLags(w.Ctx, h.Namespace())
	w.Must(err)
	var out []string
	for _, p := range sector.Pieces([]window.Window{fixture.March(1, 31)}, all) {
		out = append(out, fmt.Sprintf("%d-%d %s", p.Window.From.Day(), p.Window.To.Day(), strings.Join(append(slices.Clone(p.Missing), p.Waived...), "+")))
	}
	return strings.Join(out, "; ")
}

func (s suite) sectorLags(t *testing.T) {
	s.test(t, "a sector that was lost lags, and the others do not", func(w *world) {
		h := w.lagging()
		if got := w.lags(h); got != "1-3 set=math" {
			w.Error(got)
		}
		w.CursorAt(h, 1)
	})
	s.test(t, "nobody lags where every sector was lost", func(w *world) {
		h := fixture.Harvest{Days: 1, Sectors: []string{"set=cs", "set=math"}}
		w.Plan(h)
		w.Work(h, failed, failed)
		if got := w.lags(h); got != "" {
			w.Error(got)
		}
	})
	s.test(t, "a window is read when those that lagged are, and the others are not asked again", func(w *world) {
		h := w.lagging()
		few := again(h, "later", "set=math")
		w.Plan(few)
		w.Work(few, fixture.Succeeded)
		w.CursorAt(h, 2)
		if got := w.lags(h); got != "2-3 set=math" {
			w.Error(got)
		}
		w.Work(few, fixture.Succeeded)
		w.CursorAt(h, 3)
		if got := w.lags(h); got != "" {
			w.Error(got)
		}
		w.leavesTile()
	})
	s.test(t, "a plan for a sector that lags claims nothing where another one lags too", func(w *world) {
		h := fixture.Harvest{Days: 1, Sectors: []string{"set=cs", "set=math", "set=physics"}}
		w.Plan(h)
		w.Work(h, fixture.Succeeded, failed, failed)
		few := again(h, "later", "set=math")
		w.Plan(few)
		w.Work(few, fixture.Succeeded)
		w.CursorAt(h, 1)
		if got := w.lags(h); got != "1-2 set=physics" {
			w.Error(got)
		}
	})
	s.test(t, "what lags and is lost again still lags, and a retry closes it", func(w *world) {
		h := fixture.Harvest{Days: 1, Sectors: []string{"set=cs", "set=math", "set=physics"}}
		w.Plan(h)
		w.Work(h, fixture.Succeeded, failed, failed)
		few := again(h, "later", "set=math", "set=physics")
		plan := w.Plan(few)
		w.Work(few, failed, fixture.Succeeded)
		if got := w.lags(h); got != "1-2 set=math" {
			w.Error(got)
		}
		task := w.Number("SELECT id FROM ing_task WHERE plan_id = ? AND status_code = 'FAILED'", plan.ID)
		_, _, err := w.Store.RetryTasks(w.Ctx, ingest.TaskPick{IDs: []int64{task}}, ingest.Act{Actor: "test", Reason: "again"})
		w.Must(err)
		w.Work(few, fixture.Succeeded)
		w.CursorAt(h, 2)
	})
	s.test(t, "who begins anew asks for all: a plan for those that lagged claims nothing any more", func(w *world) {
		h := w.lagging()
		few := again(h, "later", "set=math")
		w.Plan(few)
		_, err := w.Store.SetCursor(w.Ctx, w.CursorID(h), fixture.Midnight(1), ingest.Act{Actor: "test", Reason: "all of it"})
		w.Must(err)
		w.Work(few, fixture.Succeeded, fixture.Succeeded)
		if got := w.lags(h); got != "" {
			w.Error(got)
		}
		w.CursorAt(h, 1)
	})
	s.test(t, "a reading of all sectors replaces what is known of those that lag", func(w *world) {
		h := w.lagging()
		all := h
		all.Trigger, all.AsOf = "all", fixture.Noon.Add(time.Hour)
		w.Plan(all)
		w.Work(all, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, failed, fixture.Succeeded, fixture.Succeeded)
		w.CursorAt(h, 2)
		if got := w.lags(h); got != "2-3 set=cs" {
			w.Error(got)
		}
	})
	s.test(t, "a plan that was cancelled before it had slices for all sectors claims nothing", func(w *world) {
		h := fixture.Harvest{Days: 1, Sectors: []string{"set=cs", "set=math"}}
		plan := w.Open(h)
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[:1], false))
		running := w.Begin(h)
		_, err := w.Store.CancelPlan(w.Ctx, plan.ID, "test", "enough")
		w.Must(err)
		running.Finish(fixture.Succeeded)
		w.CursorAt(h, 1)
		if gaps := coverage.Gaps(w.CoverageOf(h).Segments, h.Window()); len(gaps) != 1 {
			w.Errorf("gaps %v", gaps)
		}
	})
	s.test(t, "one sector is waived where it alone lags", func(w *world) {
		h := w.lagging()
		by := ingest.Act{Actor: "test", Reason: "they lost it"}
		rehearsed := by
		rehearsed.Rehearsal = true
		would, err := w.Store.WaiveSector(w.Ctx, w.CursorID(h), "set=math", fixture.March(1, 2), rehearsed)
		w.Must(err)
		done, err := w.Store.WaiveSector(w.Ctx, w.CursorID(h), "set=math", fixture.March(1, 2), by)
		w.Must(err)
		if !would.DryRun || len(would.Waived) != 1 || len(done.Waived) != 1 || done.Waived[0] != fixture.March(1, 2) {
			w.Errorf("%+v, %+v", would, done)
		}
		w.CursorAt(h, 2)
		if got := w.lags(h); got != "2-3 set=math" {
			w.Error(got)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'coverage.waive'"); n != 1 {
			w.Errorf("%d entries", n)
		}
		other, err := w.Store.WaiveSector(w.Ctx, w.CursorID(h), "set=cs", fixture.March(2, 3), by)
		w.Must(err)
		if len(other.Waived) != 0 {
			w.Errorf("a sector that does not lag was waived: %+v", other)
		}
	})
	s.test(t, "a window counts as waived when the last that lags is read, and another one was waived", func(w *world) {
		h := fixture.Harvest{Days: 1, Sectors: []string{"set=cs", "set=math", "set=physics"}}
		w.Plan(h)
		w.Work(h, fixture.Succeeded, failed, failed)
		_, err := w.Store.WaiveSector(w.Ctx, w.CursorID(h), "set=physics", h.Window(), ingest.Act{Actor: "test", Reason: "gone"})
		w.Must(err)
		w.CursorAt(h, 1)
		few := again(h, "later", "set=math")
		w.Plan(few)
		w.Work(few, fixture.Succeeded)
		w.CursorAt(h, 2)
		if segs := w.CoverageOf(h).Segments; len(segs) != 1 || segs[0].Waived.IsZero() || !segs[0].Have.IsZero() {
			w.Errorf("%+v", segs)
		}
	})
}
