package ledger

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// refuse ends the next run of a harvest as refused, for a week.
func (w *world) refuse(h fixture.Harvest, name string, tooMany bool) {
	w.Helper()
	end := w.Begin(h).Ending(failed)
	end.Refusals = ingest.Refusals{Refused: []ingest.RefusedPart{{Name: name, Status: 403, For: 7 * fixture.Day}}, TooMany: tooMany}
	w.Must(w.Store.FinishRun(w.Ctx, end))
}

// refused returns which sectors of a harvest are refused.
func (w *world) refused(h fixture.Harvest) []sector.Refusal {
	w.Helper()
	all, err := w.Store.SectorRefusals(w.Ctx, h.Namespace())
	w.Must(err)
	return all
}

func (s suite) sectorRefusals(t *testing.T) {
	s.test(t, "a sector that is left out lags when the others are read, and nothing failed", func(w *world) {
		h := fixture.Harvest{Days: 2, Sectors: []string{"set=cs", "set=physics"}, LeftOut: []string{"set=math"}}
		w.Plan(h)
		w.Work(h, fixture.Succeeded)
		if got := w.lags(h); got != "" {
			w.Errorf("before the others are read: %s", got)
		}
		w.Work(h, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		if got := w.lags(h); got != "1-3 set=math" {
			w.Error(got)
		}
		w.CursorAt(h, 1)
		state, _, err := w.Store.CoverageState(w.Ctx, h.Namespace())
		w.Must(err)
		for _, seg := range state.Segments {
			if seg.Fails > 0 || seg.Done() {
				w.Errorf("%+v", seg)
			}
		}
		w.leavesTile()
	})
	s.test(t, "a sector that is left out and another that fails lag both", func(w *world) {
		h := fixture.Harvest{Days: 1, Sectors: []string{"set=cs", "set=physics"}, LeftOut: []string{"set=math"}}
		w.Plan(h)
		w.Work(h, fixture.Succeeded, failed)
		if got := w.lags(h); got != "1-2 set=math+set=physics" {
			w.Error(got)
		}
		w.CursorAt(h, 1)
	})
	s.test(t, "nobody lags where all sectors that were asked for were lost", func(w *world) {
		h := fixture.Harvest{Days: 1, Sectors: []string{"set=cs", "set=physics"}, LeftOut: []string{"set=math"}}
		w.Plan(h)
		w.Work(h, failed, failed)
		if got := w.lags(h); got != "" {
			w.Error(got)
		}
		w.CursorAt(h, 1)
	})
	s.test(t, "a plan that leaves out one sector has slices for all others", func(w *world) {
		h := fixture.Harvest{Days: 1, Sectors: []string{"set=cs", "set=physics"}, LeftOut: []string{"set=math"}}
		plan := w.Open(h)
		if err := w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices()[:1], true); err == nil {
			w.Error("a sector is missing that is not left out")
		}
		left, err := w.Store.PlanLeaves(w.Ctx, plan.ID)
		if w.Must(err); len(left.Sectors) != 1 {
			w.Errorf("%+v", left)
		}
	})
	s.test(t, "a sector is refused until it is read", func(w *world) {
		h := fixture.Harvest{Days: 3, Sectors: []string{"set=cs", "set=math"}}
		w.Plan(h)
		w.Work(h, fixture.Succeeded)
		w.refuse(h, "set=math", false)
		first := w.refused(h)
		if len(first) != 1 || first[0].Status != 403 || !first[0].Recheck.Equal(first[0].Since.Add(7*fixture.Day)) {
			w.Fatalf("%+v", first)
		}
		w.Work(h, fixture.Succeeded)
		w.refuse(h, "set=math", false)
		if got := w.refused(h); len(got) != 1 || !got[0].Since.Equal(first[0].Since) || got[0].Asked.Before(first[0].Asked) {
			w.Errorf("%+v", got)
		}
		w.Work(h, fixture.Succeeded, fixture.Succeeded)
		if got := w.refused(h); len(got) != 0 {
			w.Errorf("%+v", got)
		}
		if got := w.lags(h); got != "1-3 set=math" {
			w.Error(got)
		}
	})
	s.test(t, "if too many are refused, the time of all has come", func(w *world) {
		h := fixture.Harvest{Days: 1, Sectors: []string{"set=cs", "set=math"}}
		w.Plan(h)
		w.refuse(h, "set=cs", false)
		w.refuse(h, "set=math", true)
		for _, one := range w.refused(h) {
			if one.Recheck.After(one.Asked.Add(time.Minute)) {
				w.Errorf("%+v", one)
			}
		}
	})
	s.test(t, "a watermark that is set by hand forgets who is refused", func(w *world) {
		h := fixture.Harvest{Days: 1, Sectors: []string{"set=cs", "set=math"}}
		w.Plan(h)
		w.refuse(h, "set=cs", false)
		w.Work(h, fixture.Succeeded)
		_, err := w.Store.SetCursor(w.Ctx, w.CursorID(h), fixture.Midnight(1), ingest.Act{Actor: "test", Reason: "all of it"})
		w.Must(err)
		if got := w.refused(h); len(got) != 0 {
			w.Errorf("%+v", got)
		}
	})
	s.test(t, "a look that failed is remembered for its window, and one that is answered frees the rest", func(w *world) {
		h := w.lagging()
		few := again(h, "later", "set=math")
		w.Plan(few)
		w.Work(few, failed)
		state := func() (ready, looked int) {
			all, err := w.Store.SectorLags(w.Ctx, h.Namespace())
			w.Must(err)
			for _, l := range all {
				if l.Ready {
					ready++
				}
				if !l.Looked.IsZero() {
					looked++
				}
			}
			return ready, looked
		}
		if ready, looked := state(); ready != 0 || looked != 1 {
			w.Errorf("%d ready, %d looked at", ready, looked)
		}
		w.Work(few, fixture.Succeeded)
		if ready, looked := state(); ready != 1 || looked != 1 {
			w.Errorf("%d ready, %d looked at", ready, looked)
		}
		if got := w.lags(h); got != "1-2 set=math" {
			w.Error(got)
		}
		if all, err := w.Store.SectorLags(w.Ctx, h.Namespace()); err != nil || !all[0].Window.Overlaps(window.Window{From: fixture.Midnight(1), To: fixture.Midnight(2)}) {
			w.Errorf("%+v, %v", all, err)
		}
	})
}
