package look

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// scheduleViews: what a schedule has fired, why its newest tick led to no plan, and when a
// watermark moved last.
func (s suite) scheduleViews(t *testing.T) {
	s.test(t, "what a schedule has fired", func(w *world) {
		const name = "source/endpoint/HARVEST"
		if got, err := w.Store.ScheduleStates(w.Ctx); err != nil || len(got) != 0 {
			w.Fatalf("%+v %v", got, err)
		}
		followed, err := w.Store.FollowSchedule(w.Ctx, name)
		w.Must(err)
		got, err := w.Store.ScheduleStates(w.Ctx)
		w.Must(err)
		if state := got[name]; !state.LastTick.Equal(followed) || !state.Followed.Equal(followed) || !state.FiredAt.IsZero() || state.Refused != "" {
			w.Errorf("followed: %+v", state)
		}
		id, err := w.Store.RecordTrigger(w.Ctx, ingest.Trigger{Key: fixture.Long("a1", 32), Scheduler: "INTERNAL", Type: ingest.TriggerSchedule, At: followed, Source: "source", Params: []byte("{}")})
		w.Must(err)
		w.Must(w.Store.NoteTrigger(w.Ctx, id, []byte(`{"refused":"E-NOTHING: no"}`)))
		tick := followed.Add(time.Hour)
		w.Must(w.Store.TickFired(w.Ctx, name, tick, 0, id))
		got, err = w.Store.ScheduleStates(w.Ctx)
		w.Must(err)
		if state := got[name]; !state.LastTick.Equal(tick) || state.FiredAt.IsZero() || state.Refused != "E-NOTHING: no" {
			w.Errorf("refused: %+v", state)
		}
		second, err := w.Store.RecordTrigger(w.Ctx, ingest.Trigger{Key: fixture.Long("a2", 32), Scheduler: "INTERNAL", Type: ingest.TriggerSchedule, At: followed, Source: "source", Params: []byte("{}")})
		w.Must(err)
		w.Must(w.Store.TickFired(w.Ctx, name, tick.Add(time.Hour), 0, second))
		got, err = w.Store.ScheduleStates(w.Ctx)
		w.Must(err)
		if state := got[name]; state.Refused != "" {
			w.Errorf("planned again: %+v", state)
		}
	})
	s.test(t, "when a watermark moved last", func(w *world) {
		h := fixture.Harvest{Days: 2}
		w.Plan(h)
		cursors, err := w.Store.Cursors(w.Ctx, "")
		w.Must(err)
		if len(cursors) != 1 {
			w.Fatalf("%+v", cursors)
		}
		a := w.Begin(h)
		a.Finish(fixture.Succeeded)
		moved, err := w.Store.LastAdvance(w.Ctx, cursors[0].ID)
		w.Must(err)
		events, err := w.Store.CursorEvents(w.Ctx, cursors[0].ID, 0, 100)
		w.Must(err)
		last := events[len(events)-1]
		if moved.IsZero() || !last.Moved || !moved.Equal(last.At) {
			w.Errorf("moved at %s, the last event is %+v", moved, last)
		}
		b := w.Begin(h)
		b.Finish(fixture.Failed)
		if again, err := w.Store.LastAdvance(w.Ctx, cursors[0].ID); err != nil || !again.Equal(moved) {
			w.Errorf("a failure moved it: %s %v", again, err)
		}
	})
}
