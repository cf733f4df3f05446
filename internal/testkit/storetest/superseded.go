package storetest

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

func (s suite) trust13Superseded(t *testing.T) {
	h := harvest{days: 3}
	unreachable := ingest.Outcome{Task: ingest.TaskScheduled, Run: ingest.RunFailed, Code: string(fault.Network), Error: "refused"}
	before, now := fingerprint.Key("spec", "crossref"), fingerprint.Key("spec", "corrected")
	old := func(w *world, specFingerprint string) []ingest.OutlivedPlan {
		w.Helper()
		out, err := w.store.OutlivedPlans(w.ctx, h.partition(), 0, specFingerprint)
		w.must(err)
		return out
	}
	s.test(t, "an open plan is old once its source was applied anew, and tells how it goes", func(w *world) {
		plan := w.plan(h)
		if got := old(w, now); len(got) != 0 {
			w.Errorf("nothing was applied, and old are %+v", got)
		}
		w.clock.advance(time.Minute)
		w.apply(w.source("source: tiny", "source: crossref"))
		changed := w.clock.read()
		if got := old(w, before); len(got) != 0 {
			w.Errorf("the settings are the same, and old are %+v", got)
		}
		if got := old(w, now); len(got) != 1 || got[0].ID != plan.ID || !got[0].Changed.Equal(changed) || got[0].Open != 3 || len(got[0].Runs) != 0 || got[0].IsStuck() {
			w.Errorf("old are %+v", got)
		}
		a := w.begin(h)
		a.commit(item("a", "x", noon))
		a.finish(succeeded)
		w.begin(h).finish(unreachable)
		if got := old(w, now); len(got) != 1 || got[0].Open != 2 || got[0].Failing != 1 || len(got[0].Runs) != 2 || !got[0].Runs[0].Failed || got[0].Runs[0].Pages != 0 || got[0].Runs[1].Failed {
			w.Errorf("old are %+v", got)
		}
		if other, err := w.store.OutlivedPlans(w.ctx, h.partition(), w.cursorID(h)+1, now); err != nil || len(other) != 0 {
			w.Errorf("of another campaign: %+v, %v", other, err)
		}
	})
	s.test(t, "what a superseded plan left is owed and waits for nobody", func(w *world) {
		plan := w.plan(h)
		w.begin(h).finish(unreachable)
		w.clock.advance(time.Minute)
		w.apply(w.source("source: tiny", "source: crossref"))
		w.clock.advance(time.Minute)
		if did, err := w.store.SupersedePlan(w.ctx, plan.ID, "corrected"); err != nil || did.Cancelled != 3 {
			w.Errorf("%+v, %v", did, err)
		}
		w.planIs(plan.ID, ingest.PlanCancelled)
		mended, err := w.store.Mended(w.ctx, h.partition())
		w.must(err)
		book, _, err := w.store.Book(w.ctx, h.namespace())
		w.must(err)
		if waiting := coverage.Waiting(book.Segments, w.clock.read(), mended); len(waiting) > 0 || len(coverage.Gaps(book.Segments, h.window())) != 1 {
			w.Errorf("waiting %+v of %+v", waiting, book.Segments)
		}
		if got := w.text("SELECT CONCAT(actor, ' ', action, ' ', reason) FROM ing_audit_log WHERE object = 'plan/1'"); got != ingest.ByItself+" plan.cancel corrected" {
			w.Errorf("audited as %q", got)
		}
		w.unchanged("a second time", func() {
			_, err := w.store.SupersedePlan(w.ctx, plan.ID, "corrected")
			w.must(err)
		})
	})
}
