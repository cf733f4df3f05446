package registry

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) sourceRemoved(t *testing.T) {
	by := ingest.Act{Actor: "ann", Reason: "no longer needed"}
	s.test(t, "a removed source is not in force, and its past can be read", func(w *world) {
		src, later := w.Source(), w.Source("size: 500", "size: 200")
		w.Apply(src)
		w.ApplyFrom(later, fixture.Noon.Add(3*fixture.Day))
		w.Clock.Advance(fixture.Day)
		dry := by
		dry.Rehearsal = true
		w.Unchanged("a rehearsal", func() {
			if done, err := w.Store.RemoveSource(w.Ctx, src.Code, dry); err != nil || done.Rows == 0 || done.Superseded != 1 {
				w.Errorf("rehearsed %+v, %v", done, err)
			}
		})
		stamp, _, err := w.Store.SourceStamp(w.Ctx, src.Code)
		w.Must(err)
		done, err := w.Store.RemoveSource(w.Ctx, src.Code, by)
		if err != nil || done.Rows == 0 || done.Superseded != 1 || !done.At.Equal(fixture.Noon.Add(fixture.Day)) {
			w.Fatalf("removed %+v, %v", done, err)
		}
		if after, _, err := w.Store.SourceStamp(w.Ctx, src.Code); err != nil || after == stamp {
			w.Errorf("whoever holds a copy is not told: %+v, %v", after, err)
		}
		w.notInForce(src.Code)
		w.loadsAt(done.At.Add(-time.Microsecond), src)
		w.Clock.Set(fixture.Noon.Add(4 * fixture.Day)) // what was scheduled never begins
		w.notInForce(src.Code)
		if got := w.Text("SELECT detail FROM ing_audit_log WHERE action = 'source.remove'"); !strings.Contains(got, `"superseded":1`) {
			w.Errorf("the log says %s", got)
		}
		w.Unchanged("again", func() {
			if done, err := w.Store.RemoveSource(w.Ctx, src.Code, by); err != nil || done.Rows != 0 {
				w.Errorf("removed again: %+v, %v", done, err)
			}
		})
		w.Apply(src) // and it can come back
		w.loads(src)
		w.oneRowInForceEach()
	})
	s.test(t, "a source that nobody applied stays so", func(w *world) {
		w.Unchanged("nothing to remove", func() {
			if done, err := w.Store.RemoveSource(w.Ctx, "nobody", by); err != nil || done.Rows != 0 {
				w.Errorf("%+v, %v", done, err)
			}
		})
	})
	s.test(t, "a source that is worked on is left alone", func(w *world) {
		h := fixture.Harvest{Source: w.Source().Code, Days: 2}
		w.Plan(h)
		w.Apply(w.Source())
		refused := func(what, next string) {
			w.Helper()
			w.Unchanged(what, func() {
				_, err := w.Store.RemoveSource(w.Ctx, w.Source().Code, by)
				w.Refuses(err, fault.ErrConflict, what)
				if err == nil || !strings.Contains(err.Error(), next) {
					w.Errorf("%s: %v", what, err)
				}
			})
		}
		refused("waiting tasks", "patra plan cancel")
		w.Exec("UPDATE ing_task SET status_code = 'EXECUTING'")
		refused("running tasks", "patra plan cancel")
		w.Exec("UPDATE ing_task SET status_code = 'SUCCEEDED'")
		if done, err := w.Store.RemoveSource(w.Ctx, w.Source().Code, by); err != nil || done.Rows == 0 {
			w.Errorf("%+v, %v", done, err)
		}
	})
}

// notInForce expects that a source has no version now.
func (w *world) notInForce(code string) {
	w.Helper()
	if _, found, err := w.Store.LoadSource(w.Ctx, code); found || err != nil {
		w.Errorf("source %s is still there: %v", code, err)
	}
	applied, err := w.Store.AppliedSources(w.Ctx)
	if _, found := applied[code]; found || err != nil {
		w.Errorf("source %s is still listed: %v", code, err)
	}
}
