package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

func (s suite) triggers(t *testing.T) {
	s.test(t, "the same trigger twice is one row", func(w *world) {
		first, err := w.store.RecordTrigger(w.ctx, harvest{}.newTrigger())
		w.must(err)
		w.unchanged("second trigger", func() {
			second, err := w.store.RecordTrigger(w.ctx, harvest{}.newTrigger())
			w.must(err)
			if second != first {
				w.Errorf("second call gave id %d, first %d", second, first)
			}
		})
		other, err := w.store.RecordTrigger(w.ctx, harvest{trigger: "other"}.newTrigger())
		w.must(err)
		if other == first {
			w.Error("another trigger got the same row")
		}
	})
	s.test(t, "a trigger keeps what it was told", func(w *world) {
		id, err := w.store.RecordTrigger(w.ctx, harvest{trigger: "tick"}.newTrigger())
		w.must(err)
		w.must(w.store.NoteTrigger(w.ctx, id, []byte(`{"reason":"empty window"}`)))
		if got := w.text("SELECT trigger_params FROM ing_schedule_instance WHERE id = ?", id); got != `{"trigger":"tick"}` {
			w.Errorf("params %s", got)
		}
		if got := w.text("SELECT record_remarks FROM ing_schedule_instance WHERE id = ?", id); got != `{"reason":"empty window"}` {
			w.Errorf("remarks %s", got)
		}
		if got := w.number("SELECT triggered_at FROM ing_schedule_instance WHERE id = ?", id); got != noon.UnixMicro() {
			w.Errorf("instant %d, want %d", got, noon.UnixMicro())
		}
	})
	s.test(t, "a note to an unknown trigger is refused", func(w *world) {
		w.refuses(w.store.NoteTrigger(w.ctx, 4711, []byte(`{}`)), fault.ErrNotFound, "note")
	})
	s.test(t, "a trigger without an instant is refused", func(w *world) {
		in := harvest{}.newTrigger()
		in.At = time.Time{}
		w.unchanged("refused trigger", func() {
			_, err := w.store.RecordTrigger(w.ctx, in)
			w.refuses(err, fault.ErrInvalid, "trigger")
		})
	})
}

func (s suite) plans(t *testing.T) {
	s.test(t, "a new plan comes with one PLANNED event", func(w *world) {
		h := harvest{lookback: 36 * time.Hour}
		plan := w.open(h)
		if plan.Status != ingest.PlanSlicing || plan.NextSliceNo != 1 || plan.Window != h.window() || plan.Partition != h.partition() {
			w.Errorf("plan %+v", plan)
		}
		events := w.events(h)
		if len(events) != 1 || events[0].Kind != coverage.Planned || events[0].PlanID != plan.ID || events[0].ScheduleID != plan.ScheduleID {
			w.Fatalf("events %+v, want one PLANNED with its lineage", events)
		}
		if e := events[0]; !e.AsOf.Equal(noon) || !e.At.Equal(noon) || e.Lookback != h.lookback || !reflect.DeepEqual(e.Windows, []window.Window{h.window()}) {
			w.Errorf("event %+v", e)
		}
	})
	s.test(t, "a plan that an operator asked for is in the audit log, once", func(w *world) {
		h := harvest{}
		id, err := w.store.RecordTrigger(w.ctx, h.newTrigger())
		w.must(err)
		in := h.newPlan(id)
		in.By = w.by
		for range 2 {
			_, _, err = w.store.OpenPlan(w.ctx, in)
			w.must(err)
		}
		w.audited("plan.open", 1)
		w.open(harvest{trigger: "by itself"})
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log"); n != 1 {
			w.Errorf("%d entries: a schedule is no operator", n)
		}
	})
	s.test(t, "a cursor knows since when the source asks its question by itself", func(w *world) {
		h := harvest{}
		w.open(h)
		own := func() time.Time {
			c, err := w.store.Cursor(w.ctx, w.cursorID(h))
			w.must(err)
			return c.OwnSince
		}
		if at := own(); !at.IsZero() {
			w.Errorf("since %s, but only a run with other settings asked", at)
		}
		for _, trigger := range []string{"first", "second"} {
			id, err := w.store.RecordTrigger(w.ctx, harvest{trigger: trigger}.newTrigger())
			w.must(err)
			in := harvest{trigger: trigger}.newPlan(id)
			in.Own = true
			_, _, err = w.store.OpenPlan(w.ctx, in)
			w.must(err)
			w.clock.advance(time.Hour)
		}
		if at := own(); !at.Equal(noon) {
			w.Errorf("since %s, want that of the first", at)
		}
	})
	s.test(t, "the same key twice is one plan", func(w *world) {
		h := harvest{}
		first := w.open(h)
		w.unchanged("second plan", func() {
			second, existed, err := w.store.OpenPlan(w.ctx, h.newPlan(first.ScheduleID))
			w.must(err)
			if !existed || second != first {
				w.Errorf("existed=%v %+v, want the first: %+v", existed, second, first)
			}
		})
	})
	s.test(t, "plans of one source share its rows", func(w *world) {
		w.plan(harvest{})
		grown := w.grown(func() { w.plan(harvest{trigger: "next", first: 4}) })
		want := map[string]int{"ing_schedule_instance": 1, "ing_plan": 1, "ing_plan_slice": 3, "ing_task": 3, "ing_cursor_event": 1}
		if !reflect.DeepEqual(grown, want) {
			w.Errorf("second plan added %v, want %v", grown, want)
		}
	})
	s.test(t, "an empty plan is complete and owes nothing", func(w *world) {
		h := harvest{empty: true}
		plan := w.open(h)
		if plan.Status != ingest.PlanCompleted {
			w.Errorf("status %s", plan.Status)
		}
		if n := len(w.events(h)); n != 0 {
			w.Errorf("%d cursor events, want none", n)
		}
		shown, err := w.store.Plans(w.ctx, view.Filter{PlanID: plan.ID})
		w.must(err)
		if len(shown) != 1 || shown[0].Window != nil {
			w.Errorf("shown as %+v, want no window", shown)
		}
		stored, existed, err := w.store.OpenPlan(w.ctx, h.newPlan(plan.ScheduleID))
		w.must(err)
		if !existed || stored != plan {
			w.Errorf("read back as %+v, want %+v", stored, plan)
		}
		w.verified(h)
	})
	s.test(t, "what is owed may have holes", func(w *world) {
		h := harvest{days: 9}
		in := h.newPlan(1)
		in.Owed = []window.Window{march(1, 3), march(5, 6), march(8, 10)}
		_, _, err := w.store.OpenPlan(w.ctx, in)
		w.must(err)
		if got := w.events(h)[0].Windows; !reflect.DeepEqual(got, in.Owed) {
			w.Errorf("event windows %v, want %v", got, in.Owed)
		}
		if got := len(w.book(h).Segments); got != 3 {
			w.Errorf("%d segments, want 3", got)
		}
		w.verified(h)
	})
	s.test(t, "the order in which owed windows are listed does not matter", func(w *world) {
		h := harvest{days: 9}
		w.plan(harvest{trigger: "before", days: 1})
		w.plan(harvest{trigger: "beside", first: 5, days: 2})
		in := h.newPlan(1)
		in.AsOf = noon.Add(day)
		in.Owed = []window.Window{march(8, 10), march(1, 3), march(5, 6)}
		_, _, err := w.store.OpenPlan(w.ctx, in)
		w.must(err)
		w.verified(h)
	})
	s.test(t, "the specification is stored once per content", func(w *world) {
		w.plan(harvest{})
		w.plan(harvest{trigger: "second", first: 4})
		changed := harvest{trigger: "third", first: 7}.newPlan(1)
		changed.Spec, changed.SpecFingerprint = []byte(`{"v":2}`), fingerprint.Key("v2")
		_, _, err := w.store.OpenPlan(w.ctx, changed)
		w.must(err)
		if n := w.number("SELECT COUNT(*) FROM ing_spec_snapshot"); n != 2 {
			w.Errorf("%d snapshots, want 2", n)
		}
	})
}
