package ledger

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) triggers(t *testing.T) {
	s.test(t, "the same trigger twice is one row", func(w *world) {
		first, err := w.Store.RecordTrigger(w.Ctx, fixture.Harvest{}.NewTrigger())
		w.Must(err)
		w.Unchanged("second trigger", func() {
			second, err := w.Store.RecordTrigger(w.Ctx, fixture.Harvest{}.NewTrigger())
			w.Must(err)
			if second != first {
				w.Errorf("second call gave id %d, first %d", second, first)
			}
		})
		other, err := w.Store.RecordTrigger(w.Ctx, fixture.Harvest{Trigger: "other"}.NewTrigger())
		w.Must(err)
		if other == first {
			w.Error("another trigger got the same row")
		}
	})
	s.test(t, "a trigger keeps what it was told", func(w *world) {
		in := fixture.Harvest{Trigger: "tick"}.NewTrigger()
		in.JobID, in.LogID = "job-1", "log-2"
		id, err := w.Store.RecordTrigger(w.Ctx, in)
		w.Must(err)
		w.Must(w.Store.NoteTrigger(w.Ctx, id, []byte(`{"reason":"empty window"}`)))
		if got := w.Text("SELECT trigger_params FROM ing_schedule_instance WHERE id = ?", id); got != `{"trigger":"tick"}` {
			w.Errorf("params %s", got)
		}
		if got := w.Text("SELECT record_remarks FROM ing_schedule_instance WHERE id = ?", id); got != `{"reason":"empty window"}` {
			w.Errorf("remarks %s", got)
		}
		if got := w.Number("SELECT triggered_at FROM ing_schedule_instance WHERE id = ?", id); got != fixture.Noon.UnixMicro() {
			w.Errorf("instant %d, want %d", got, fixture.Noon.UnixMicro())
		}
	})
	s.test(t, "a trigger is found with what came of it", func(w *world) {
		in := fixture.Harvest{Trigger: "refused"}.NewTrigger()
		in.JobID, in.LogID = "job-1", "log-2"
		id, err := w.Store.RecordTrigger(w.Ctx, in)
		w.Must(err)
		w.Must(w.Store.NoteTrigger(w.Ctx, id, []byte(`{"refused":"it is paused"}`)))
		found, known, err := w.Store.TriggerOfKey(w.Ctx, in.Key)
		w.Must(err)
		if !known || found.ID != id || found.JobID != "job-1" || found.LogID != "log-2" || found.Refused != "it is paused" || found.PlanID != 0 || !found.At.Equal(in.At) {
			w.Errorf("%v %+v", known, found)
		}
		if _, known, err := w.Store.TriggerOfKey(w.Ctx, "nobody"); known || err != nil {
			w.Errorf("%v, %v", known, err)
		}
		other, err := w.Store.RecordTrigger(w.Ctx, fixture.Harvest{Trigger: "other"}.NewTrigger())
		w.Must(err)
		for state, want := range map[string][]int64{"": {other, id}, view.TriggerRefused: {id}, view.TriggerPlanned: nil} {
			rows, err := w.Store.Triggers(w.Ctx, view.Filter{Status: state, Source: in.Source})
			w.Must(err)
			var got []int64
			for _, row := range rows {
				got = append(got, row.ID)
			}
			if !slices.Equal(got, want) {
				w.Errorf("%q: %v, want %v", state, got, want)
			}
		}
	})
	s.test(t, "a note to an unknown trigger is refused", func(w *world) {
		w.Refuses(w.Store.NoteTrigger(w.Ctx, 4711, []byte(`{}`)), fault.ErrNotFound, "note")
	})
	s.test(t, "a trigger without an instant is refused", func(w *world) {
		in := fixture.Harvest{}.NewTrigger()
		in.At = time.Time{}
		w.Unchanged("refused trigger", func() {
			_, err := w.Store.RecordTrigger(w.Ctx, in)
			w.Refuses(err, fault.ErrInvalid, "trigger")
		})
	})
}

func (s suite) plans(t *testing.T) {
	s.test(t, "a new plan comes with one PLANNED event", func(w *world) {
		h := fixture.Harvest{Lookback: 36 * time.Hour}
		plan := w.Open(h)
		if plan.Status != ingest.PlanSlicing || plan.NextSliceNo != 1 || plan.Window != h.Window() || plan.Partition != h.Partition() {
			w.Errorf("plan %+v", plan)
		}
		events := w.Events(h)
		if len(events) != 1 || events[0].Kind != coverage.Planned || events[0].PlanID != plan.ID || events[0].ScheduleID != plan.ScheduleID {
			w.Fatalf("events %+v, want one PLANNED with its lineage", events)
		}
		if e := events[0]; !e.AsOf.Equal(fixture.Noon) || !e.At.Equal(fixture.Noon) || e.Lookback != h.Lookback || !reflect.DeepEqual(e.Windows, []window.Window{h.Window()}) {
			w.Errorf("event %+v", e)
		}
	})
	s.test(t, "a plan that an operator asked for is in the audit log, once", func(w *world) {
		h := fixture.Harvest{}
		id, err := w.Store.RecordTrigger(w.Ctx, h.NewTrigger())
		w.Must(err)
		in := h.NewPlan(id)
		in.By = w.By
		for range 2 {
			_, _, err = w.Store.OpenPlan(w.Ctx, in)
			w.Must(err)
		}
		w.audited("plan.open", 1)
		w.Open(fixture.Harvest{Trigger: "by itself"})
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log"); n != 1 {
			w.Errorf("%d entries: a schedule is no operator", n)
		}
	})
	s.test(t, "a cursor knows since when the source asks its question by itself", func(w *world) {
		h := fixture.Harvest{}
		w.Open(h)
		own := func() time.Time {
			c, err := w.Store.Cursor(w.Ctx, w.CursorID(h))
			w.Must(err)
			return c.OwnSince
		}
		if at := own(); !at.IsZero() {
			w.Errorf("since %s, but only a run with other settings asked", at)
		}
		for _, trigger := range []string{"first", "second"} {
			id, err := w.Store.RecordTrigger(w.Ctx, fixture.Harvest{Trigger: trigger}.NewTrigger())
			w.Must(err)
			in := fixture.Harvest{Trigger: trigger}.NewPlan(id)
			in.Own = true
			_, _, err = w.Store.OpenPlan(w.Ctx, in)
			w.Must(err)
			w.Clock.Advance(time.Hour)
		}
		if at := own(); !at.Equal(fixture.Noon) {
			w.Errorf("since %s, want that of the first", at)
		}
	})
	s.test(t, "the same key twice is one plan", func(w *world) {
		h := fixture.Harvest{}
		first := w.Open(h)
		w.Unchanged("second plan", func() {
			second, existed, err := w.Store.OpenPlan(w.Ctx, h.NewPlan(first.ScheduleID))
			w.Must(err)
			if !existed || second != first {
				w.Errorf("existed=%v %+v, want the first: %+v", existed, second, first)
			}
		})
	})
	s.test(t, "plans of one source share its rows", func(w *world) {
		w.Plan(fixture.Harvest{})
		grown := w.Grown(func() { w.Plan(fixture.Harvest{Trigger: "next", First: 4}) })
		want := map[string]int{"ing_schedule_instance": 1, "ing_plan": 1, "ing_plan_slice": 3, "ing_task": 3, "ing_cursor_event": 1}
		if !reflect.DeepEqual(grown, want) {
			w.Errorf("second plan added %v, want %v", grown, want)
		}
	})
	s.test(t, "an empty plan is complete and owes nothing", func(w *world) {
		h := fixture.Harvest{Empty: true}
		plan := w.Open(h)
		if plan.Status != ingest.PlanCompleted {
			w.Errorf("status %s", plan.Status)
		}
		if n := len(w.Events(h)); n != 0 {
			w.Errorf("%d cursor events, want none", n)
		}
		shown, err := w.Store.Plans(w.Ctx, view.Filter{PlanID: plan.ID})
		w.Must(err)
		if len(shown) != 1 || shown[0].Window != nil {
			w.Errorf("shown as %+v, want no window", shown)
		}
		stored, existed, err := w.Store.OpenPlan(w.Ctx, h.NewPlan(plan.ScheduleID))
		w.Must(err)
		if !existed || stored != plan {
			w.Errorf("read back as %+v, want %+v", stored, plan)
		}
		w.Verified(h)
	})
	s.test(t, "what is owed may have holes", func(w *world) {
		h := fixture.Harvest{Days: 9}
		in := h.NewPlan(1)
		in.Owed = []window.Window{fixture.March(1, 3), fixture.March(5, 6), fixture.March(8, 10)}
		_, _, err := w.Store.OpenPlan(w.Ctx, in)
		w.Must(err)
		if got := w.Events(h)[0].Windows; !reflect.DeepEqual(got, in.Owed) {
			w.Errorf("event windows %v, want %v", got, in.Owed)
		}
		if got := len(w.CoverageOf(h).Segments); got != 3 {
			w.Errorf("%d segments, want 3", got)
		}
		w.Verified(h)
	})
	s.test(t, "the order in which owed windows are listed does not matter", func(w *world) {
		h := fixture.Harvest{Days: 9}
		w.Plan(fixture.Harvest{Trigger: "before", Days: 1})
		w.Plan(fixture.Harvest{Trigger: "beside", First: 5, Days: 2})
		in := h.NewPlan(1)
		in.AsOf = fixture.Noon.Add(fixture.Day)
		in.Owed = []window.Window{fixture.March(8, 10), fixture.March(1, 3), fixture.March(5, 6)}
		_, _, err := w.Store.OpenPlan(w.Ctx, in)
		w.Must(err)
		w.Verified(h)
	})
	s.test(t, "the specification is stored once per content", func(w *world) {
		w.Plan(fixture.Harvest{})
		w.Plan(fixture.Harvest{Trigger: "second", First: 4})
		changed := fixture.Harvest{Trigger: "third", First: 7}.NewPlan(1)
		changed.Spec, changed.SpecFingerprint = []byte(`{"v":2}`), fingerprint.Key("v2")
		_, _, err := w.Store.OpenPlan(w.Ctx, changed)
		w.Must(err)
		if n := w.Number("SELECT COUNT(*) FROM ing_spec_snapshot"); n != 2 {
			w.Errorf("%d snapshots, want 2", n)
		}
	})
}
