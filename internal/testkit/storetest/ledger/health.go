package ledger

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func found(c health.Condition, level int, detail string) ingest.ConditionNote {
	return ingest.ConditionNote{InForce: health.InForce{Condition: c, Level: level}, Detail: detail}
}

func (w *world) notes(owner string, list ...ingest.ConditionNote) {
	w.Helper()
	w.Must(w.Store.NoteHealth(w.Ctx, ingest.HealthNote{Partition: fixture.Harvest{}.Partition(), Owner: owner, For: 10 * time.Minute, InForce: list}))
}

// inForce are the conditions of the harvest with their levels.
func (w *world) inForce() map[health.Condition]int {
	w.Helper()
	list, err := w.Store.HealthOf(w.Ctx, fixture.Harvest{}.Partition())
	w.Must(err)
	out := map[health.Condition]int{}
	for _, c := range list {
		out[c.Condition] = c.Level
	}
	return out
}

func (w *world) inForceIs(when string, want map[health.Condition]int) {
	w.Helper()
	if got := w.inForce(); !reflect.DeepEqual(got, want) {
		w.Errorf("%s: %v, want %v", when, got, want)
	}
}

// conditionsAre checks what people are shown: condition and actions.
func (w *world) conditionsAre(when string, want map[health.Condition][]health.Action) {
	w.Helper()
	list, err := w.Store.Conditions(w.Ctx)
	w.Must(err)
	got := map[health.Condition][]health.Action{}
	for _, c := range list {
		got[c.Condition] = c.Actions
		if c.Source != "crossref" || c.Detail == "" || c.Level < 1 {
			w.Errorf("%s: %+v", when, c)
		}
	}
	if !reflect.DeepEqual(got, want) {
		w.Errorf("%s: %v, want %v", when, got, want)
	}
}

func (w *world) healed() map[health.Action]int64 {
	w.Helper()
	list, err := w.Store.Healed(w.Ctx)
	w.Must(err)
	out := map[health.Action]int64{}
	for _, h := range list {
		out[h.Action] += h.Times
	}
	return out
}

func (s suite) health(t *testing.T) {
	h := fixture.Harvest{Days: 3}
	s.test(t, "what is found is kept until it has ended", func(w *world) {
		w.inForceIs("at first", map[health.Condition]int{})
		w.notes("a", found(health.Slow, 1, "4.1 s"), found(health.HeavyPages, 2, "6 MB"))
		w.inForceIs("found", map[health.Condition]int{health.Slow: 1, health.HeavyPages: 2})
		since := w.Text("SELECT MIN(since) FROM ing_health")
		w.Clock.Advance(5 * time.Minute)
		w.notes("a", found(health.Slow, 2, "5 s"))
		w.inForceIs("one has ended, one is worse", map[health.Condition]int{health.Slow: 2})
		if again := w.Text("SELECT MIN(since) FROM ing_health"); again != since {
			w.Errorf("it began at %s, not at %s", since, again)
		}
		w.notes("a")
		w.inForceIs("all have ended", map[health.Condition]int{})
		if n := w.Number("SELECT COUNT(*) FROM ing_health"); n != 0 {
			w.Errorf("%d rows are left", n)
		}
	})
	s.test(t, "a process that died leaves nothing behind", func(w *world) {
		w.notes("dead", found(health.StoreBusy, 1, "0.4 s"))
		w.notes("alive", found(health.Slow, 1, "4 s"))
		w.Clock.Advance(11 * time.Minute)
		w.inForceIs("later", map[health.Condition]int{})
		w.notes("alive", found(health.Slow, 1, "4 s"))
		w.inForceIs("renewed", map[health.Condition]int{health.Slow: 1})
		if n := w.Number("SELECT COUNT(*) FROM ing_health"); n != 1 {
			w.Errorf("%d rows", n)
		}
	})
	s.test(t, "of several processes the worst counts, and the others stay", func(w *world) {
		w.notes("a", found(health.Slow, 1, "4 s"))
		w.notes("b", found(health.Slow, 2, "8 s"), found(health.Failing, 1, "9 %"))
		w.inForceIs("both", map[health.Condition]int{health.Slow: 2, health.Failing: 1})
		w.conditionsAre("both", map[health.Condition][]health.Action{
			health.Slow: {health.ShrinkPage, health.LowerConcurrency}, health.Failing: {health.LowerConcurrency, health.Reslice},
		})
		w.notes("b")
		w.inForceIs("one of them", map[health.Condition]int{health.Slow: 1})
	})
	s.test(t, "they note at once", func(w *world) {
		handles := w.Handles(4)
		w.Together(16, func(i int) error {
			return handles[i%4].NoteHealth(w.Ctx, ingest.HealthNote{
				Partition: h.Partition(), Owner: string(rune('a' + i%4)), For: time.Minute, InForce: []ingest.ConditionNote{found(health.Slow, 1+i%4, "4 s")},
			})
		})
		w.inForceIs("all", map[health.Condition]int{health.Slow: 4})
	})
	s.test(t, "everything that is wrong is listed", func(w *world) {
		w.conditionsAre("nothing", map[health.Condition][]health.Action{})
		late := following("late")
		late.Days = 5
		w.Plan(late)
		for range 3 {
			w.Begin(late).Down()
		}
		w.Begin(late).Finish(ingest.Outcome{Task: ingest.TaskScheduled, Run: ingest.RunCancelled, Code: string(fault.RateLimited), NotBefore: w.Clock.Read().Add(time.Hour)})
		open := w.Open(fixture.Harvest{Trigger: "partial"})
		w.Must(w.Store.SuspendPlan(w.Ctx, open.ID, []byte(`{"reason":"writes wait for the database","condition":"STORE_BUSY"}`)))
		_, _, err := w.Store.PauseSource(w.Ctx, ingest.Scope{Source: "crossref"}, ingest.Act{Actor: ingest.ByItself, Reason: "401"})
		w.Must(err)
		w.conditionsAre("all", map[health.Condition][]health.Action{
			health.Late: {health.RaiseLag}, health.Down: {health.OpenCircuit}, health.Throttled: {health.LowerRate},
			health.StoreBusy: {health.PausePlanning}, health.Fatal: {health.StopSource},
		})
		if got := w.healed(); got[health.RaiseLag] != 1 || got[health.PausePlanning] != 1 || got[health.OpenCircuit] != 1 {
			w.Errorf("counted %v", got)
		}
	})
	s.test(t, "what a run did is told and counted once", func(w *world) {
		w.Plan(h)
		o := fixture.Succeeded
		o.Stats.Actions.Count(health.ShrinkPage, 2)
		a := w.Begin(h)
		end := a.Ending(o)
		end.Remarks = []health.Remark{{Condition: health.Slow, Action: health.ShrinkPage, Page: 20, Text: "pages of 50 instead of 100"}}
		w.Must(w.Store.FinishRun(w.Ctx, end))
		w.Unchanged("finished again", func() { w.Must(w.Store.FinishRun(w.Ctx, end)) })
		w.Begin(h).Finish(o)
		w.Begin(h).Finish(fixture.Succeeded)
		if got := w.healed(); got[health.ShrinkPage] != 4 || len(got) != 1 {
			w.Errorf("counted %v", got)
		}
		runs, err := w.Store.Runs(w.Ctx, view.Filter{})
		w.Must(err)
		if got := runs[len(runs)-1]; !reflect.DeepEqual(got.Remarks, end.Remarks) || got.Stats.Actions.ShrinkPage != 2 || runs[0].Remarks != nil {
			w.Errorf("%+v", got)
		}
	})
}

func lossyHealth() []lossy {
	return []lossy{{"note health", "note health", func(w *world) func() (answer, error) {
		w.notes("me", found(health.Slow, 1, "4 s"), found(health.Failing, 1, "9 %"))
		return func() (answer, error) {
			return nil, w.Store.NoteHealth(w.Ctx, ingest.HealthNote{
				Partition: fixture.Harvest{}.Partition(), Owner: "me", For: time.Minute,
				InForce: []ingest.ConditionNote{found(health.Slow, 2, "5 s"), found(health.StoreBusy, 1, "0.3 s")},
			})
		}
	}}}
}
