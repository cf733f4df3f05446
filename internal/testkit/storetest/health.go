package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

func found(c health.Condition, level int, detail string) ingest.ConditionNote {
	return ingest.ConditionNote{InForce: health.InForce{Condition: c, Level: level}, Detail: detail}
}

func (w *world) notes(owner string, list ...ingest.ConditionNote) {
	w.Helper()
	w.must(w.store.NoteHealth(w.ctx, ingest.HealthNote{Partition: harvest{}.partition(), Owner: owner, For: 10 * time.Minute, InForce: list}))
}

// inForce are the conditions of the harvest with their levels.
func (w *world) inForce() map[health.Condition]int {
	w.Helper()
	list, err := w.store.HealthOf(w.ctx, harvest{}.partition())
	w.must(err)
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
	list, err := w.store.Conditions(w.ctx)
	w.must(err)
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
	list, err := w.store.Healed(w.ctx)
	w.must(err)
	out := map[health.Action]int64{}
	for _, h := range list {
		out[h.Action] += h.Times
	}
	return out
}

func (s suite) health(t *testing.T) {
	h := harvest{days: 3}
	s.test(t, "what is found is kept until it has ended", func(w *world) {
		w.inForceIs("at first", map[health.Condition]int{})
		w.notes("a", found(health.Slow, 1, "4.1 s"), found(health.HeavyPages, 2, "6 MB"))
		w.inForceIs("found", map[health.Condition]int{health.Slow: 1, health.HeavyPages: 2})
		since := w.text("SELECT MIN(since) FROM ing_health")
		w.clock.advance(5 * time.Minute)
		w.notes("a", found(health.Slow, 2, "5 s"))
		w.inForceIs("one has ended, one is worse", map[health.Condition]int{health.Slow: 2})
		if again := w.text("SELECT MIN(since) FROM ing_health"); again != since {
			w.Errorf("it began at %s, not at %s", since, again)
		}
		w.notes("a")
		w.inForceIs("all have ended", map[health.Condition]int{})
		if n := w.number("SELECT COUNT(*) FROM ing_health"); n != 0 {
			w.Errorf("%d rows are left", n)
		}
	})
	s.test(t, "a process that died leaves nothing behind", func(w *world) {
		w.notes("dead", found(health.StoreBusy, 1, "0.4 s"))
		w.notes("alive", found(health.Slow, 1, "4 s"))
		w.clock.advance(11 * time.Minute)
		w.inForceIs("later", map[health.Condition]int{})
		w.notes("alive", found(health.Slow, 1, "4 s"))
		w.inForceIs("renewed", map[health.Condition]int{health.Slow: 1})
		if n := w.number("SELECT COUNT(*) FROM ing_health"); n != 1 {
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
		handles := w.handles(4)
		w.together(16, func(i int) error {
			return handles[i%4].NoteHealth(w.ctx, ingest.HealthNote{
				Partition: h.partition(), Owner: string(rune('a' + i%4)), For: time.Minute, InForce: []ingest.ConditionNote{found(health.Slow, 1+i%4, "4 s")},
			})
		})
		w.inForceIs("all", map[health.Condition]int{health.Slow: 4})
	})
	s.test(t, "everything that is wrong is listed", func(w *world) {
		w.conditionsAre("nothing", map[health.Condition][]health.Action{})
		late := following("late")
		late.days = 5
		w.plan(late)
		for range 3 {
			w.begin(late).down()
		}
		w.begin(late).finish(ingest.Outcome{Task: ingest.TaskScheduled, Run: ingest.RunCancelled, Code: string(fault.RateLimited), NotBefore: w.clock.read().Add(time.Hour)})
		open := w.open(harvest{trigger: "partial"})
		w.must(w.store.SuspendPlan(w.ctx, open.ID, []byte(`{"reason":"writes wait for the database","condition":"STORE_BUSY"}`)))
		_, _, err := w.store.PauseSource(w.ctx, ingest.Scope{Source: "crossref"}, ingest.Act{Actor: ingest.ByItself, Reason: "401"})
		w.must(err)
		w.conditionsAre("all", map[health.Condition][]health.Action{
			health.Late: {health.RaiseLag}, health.Down: {health.OpenCircuit}, health.Throttled: {health.LowerRate},
			health.StoreBusy: {health.PausePlanning}, health.Fatal: {health.StopSource},
		})
		if got := w.healed(); got[health.RaiseLag] != 1 || got[health.PausePlanning] != 1 || got[health.OpenCircuit] != 1 {
			w.Errorf("counted %v", got)
		}
	})
	s.test(t, "what a run did is told and counted once", func(w *world) {
		w.plan(h)
		o := succeeded
		o.Stats.Actions.Count(health.ShrinkPage, 2)
		a := w.begin(h)
		end := a.ending(o)
		end.Remarks = []health.Remark{{Condition: health.Slow, Action: health.ShrinkPage, Page: 20, Text: "pages of 50 instead of 100"}}
		w.must(w.store.FinishRun(w.ctx, end))
		w.unchanged("finished again", func() { w.must(w.store.FinishRun(w.ctx, end)) })
		w.begin(h).finish(o)
		w.begin(h).finish(succeeded)
		if got := w.healed(); got[health.ShrinkPage] != 4 || len(got) != 1 {
			w.Errorf("counted %v", got)
		}
		runs, err := w.store.Runs(w.ctx, view.Filter{})
		w.must(err)
		if got := runs[len(runs)-1]; !reflect.DeepEqual(got.Remarks, end.Remarks) || got.Stats.Actions.ShrinkPage != 2 || runs[0].Remarks != nil {
			w.Errorf("%+v", got)
		}
	})
}

func lossyHealth() []lossy {
	return []lossy{{"note health", "note health", func(w *world) func() (answer, error) {
		w.notes("me", found(health.Slow, 1, "4 s"), found(health.Failing, 1, "9 %"))
		return func() (answer, error) {
			return nil, w.store.NoteHealth(w.ctx, ingest.HealthNote{
				Partition: harvest{}.partition(), Owner: "me", For: time.Minute,
				InForce: []ingest.ConditionNote{found(health.Slow, 2, "5 s"), found(health.StoreBusy, 1, "0.3 s")},
			})
		}
	}}}
}
