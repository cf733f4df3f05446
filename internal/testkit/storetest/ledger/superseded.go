package ledger

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) trust13Superseded(t *testing.T) {
	h := fixture.Harvest{Days: 3}
	unreachable := ingest.Outcome{Task: ingest.TaskScheduled, Run: ingest.RunFailed, Code: string(fault.Network), Error: "refused"}
	before, now := fingerprint.Key("spec", "crossref"), fingerprint.Key("spec", "corrected")
	old := func(w *world, specFingerprint string) []ingest.OutlivedPlan {
		w.Helper()
		out, err := w.Store.OutlivedPlans(w.Ctx, h.Partition(), 0, specFingerprint)
		w.Must(err)
		return out
	}
	s.test(t, "an open plan is old once its source was applied anew, and tells how it goes", func(w *world) {
		plan := w.Plan(h)
		if got := old(w, now); len(got) != 0 {
			w.Errorf("nothing was applied, and old are %+v", got)
		}
		w.Clock.Advance(time.Minute)
		w.Apply(w.Source("source: tiny", "source: crossref"))
		changed := w.Clock.Read()
		if got := old(w, before); len(got) != 0 {
			w.Errorf("the settings are the same, and old are %+v", got)
		}
		if got := old(w, now); len(got) != 1 || got[0].ID != plan.ID || !got[0].Changed.Equal(changed) || got[0].Open != 3 || len(got[0].Runs) != 0 || got[0].IsStuck() {
			w.Errorf("old are %+v", got)
		}
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon))
		a.Finish(fixture.Succeeded)
		w.Begin(h).Finish(unreachable)
		if got := old(w, now); len(got) != 1 || got[0].Open != 2 || got[0].Failing != 1 || len(got[0].Runs) != 2 || !got[0].Runs[0].Failed || got[0].Runs[0].Pages != 0 || got[0].Runs[1].Failed {
			w.Errorf("old are %+v", got)
		}
		if other, err := w.Store.OutlivedPlans(w.Ctx, h.Partition(), w.CursorID(h)+1, now); err != nil || len(other) != 0 {
			w.Errorf("of another campaign: %+v, %v", other, err)
		}
	})
	s.test(t, "what a superseded plan left is owed and waits for nobody", func(w *world) {
		plan := w.Plan(h)
		w.Begin(h).Finish(unreachable)
		w.Clock.Advance(time.Minute)
		w.Apply(w.Source("source: tiny", "source: crossref"))
		w.Clock.Advance(time.Minute)
		if did, err := w.Store.SupersedePlan(w.Ctx, plan.ID, "corrected"); err != nil || did.Cancelled != 3 {
			w.Errorf("%+v, %v", did, err)
		}
		w.planIs(plan.ID, ingest.PlanCancelled)
		mended, err := w.Store.CauseChanged(w.Ctx, h.Partition())
		w.Must(err)
		book, _, err := w.Store.CoverageState(w.Ctx, h.Namespace())
		w.Must(err)
		if waiting := coverage.Waiting(book.Segments, w.Clock.Read(), mended); len(waiting) > 0 || len(coverage.Gaps(book.Segments, h.Window())) != 1 {
			w.Errorf("waiting %+v of %+v", waiting, book.Segments)
		}
		if got := w.Text("SELECT CONCAT(actor, ' ', action, ' ', reason) FROM ing_audit_log WHERE object = 'plan/1'"); got != ingest.ByItself+" plan.cancel corrected" {
			w.Errorf("audited as %q", got)
		}
		w.Unchanged("a second time", func() {
			_, err := w.Store.SupersedePlan(w.Ctx, plan.ID, "corrected")
			w.Must(err)
		})
	})
}
