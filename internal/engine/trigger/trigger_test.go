package trigger

import (
	"errors"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/schedule"
)

func TestEveryTickIsOnePlan(t *testing.T) {
	inBubble(t, func(w *world) {
		w.jobs = []Job{w.job(ingest.Harvest, time.Hour), w.job(ingest.Update, 90*time.Minute)}
		p := w.start("a")
		w.pass(3*time.Hour + time.Second)
		w.plans("a HARVEST 01:00:00 +0", "a UPDATE 01:30:00 +0", "a HARVEST 02:00:00 +0", "a HARVEST 03:00:00 +0", "a UPDATE 03:00:00 +0")
		p.end()
		got := w.triggers[w.order[0]]
		at := time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)
		if got.Key != fingerprint.Key("trigger", "schedule tiny/works/HARVEST 2000-01-01T01:00:00Z") || got.Scheduler != "INTERNAL" ||
			got.Type != ingest.TriggerSchedule || got.Source != "tiny" || !got.At.Equal(at) {
			t.Errorf("%+v", got)
		}
		const params = `{"endpoint":"works","from":null,"missed":0,"operation":"HARVEST","schedule":"tiny/works/HARVEST","tick":"2000-01-01T01:00:00Z","to":null}`
		if string(got.Params) != params {
			t.Errorf("params %s", got.Params)
		}
	})
}

// A tick fires to the moment, not when somebody happens to look.
func TestTicksFireInTime(t *testing.T) {
	inBubble(t, func(w *world) {
		s, err := schedule.New("tiny/works/HARVEST", schedule.Config{Cron: "7 0 * * *", Jitter: duration.Duration(time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		tick := time.Date(2000, 1, 1, 0, 7, 0, 0, time.UTC)
		fires := s.Fires(tick)
		var planned time.Time
		w.jobs, w.plan = []Job{{Schedule: s}}, func(_ Job, t Tick) (Outcome, error) {
			planned = time.Now()
			if !t.At.Equal(tick) || !t.Now.Equal(planned) {
				w.Errorf("tick %+v", t)
			}
			return Outcome{}, nil
		}
		w.start("a")
		w.pass(10 * time.Minute)
		if !planned.Equal(fires) || fires.Equal(tick) {
			t.Errorf("planned at %v, want %v", planned, fires)
		}
	})
}

func TestMissedTicksAreOne(t *testing.T) {
	inBubble(t, func(w *world) {
		w.jobs = []Job{w.job(ingest.Harvest, time.Hour)}
		w.start("a").end() // sees the schedule
		w.pass(5*time.Hour + time.Minute)
		w.start("b")
		w.pass(time.Second)
		w.plans("b HARVEST 05:00:00 +4")
		if w.missed["tiny/works/HARVEST"] != 4 {
			t.Errorf("missed %v", w.missed)
		}
	})
}

func TestARefusedTickLeavesItsReason(t *testing.T) {
	inBubble(t, func(w *world) {
		w.jobs = []Job{w.job(ingest.Harvest, time.Hour)}
		w.plan = func(Job, Tick) (Outcome, error) { return Outcome{Refused: "E-REQUIRED: no"}, nil }
		w.start("a")
		w.pass(2*time.Hour + time.Minute)
		w.plans()
		if notes := w.noted(); len(w.triggers) != 2 || len(notes) != 2 || notes[0] != `{"refused":"E-REQUIRED: no"}` {
			t.Errorf("%d triggers, notes %q", len(w.triggers), notes)
		}
		w.do(func() { w.plan = nil })
		w.pass(time.Hour)
		w.plans("a HARVEST 03:00:00 +0")
	})
}

// Trouble of the machinery takes no tick away, and stops no other schedule.
func TestATickIsTriedAgain(t *testing.T) {
	inBubble(t, func(w *world) {
		w.jobs = []Job{w.job(ingest.Harvest, time.Hour), w.job(ingest.Update, time.Hour)}
		tries := 0
		w.plan = func(j Job, _ Tick) (Outcome, error) {
			if j.Partition.Operation == ingest.Update {
				return Outcome{}, nil
			}
			if tries++; tries < 4 {
				return Outcome{}, errors.New("lost the database")
			}
			return Outcome{}, nil
		}
		w.start("a")
		w.pass(time.Hour + time.Minute)
		w.plans("a UPDATE 01:00:00 +0", "a HARVEST 01:00:00 +0")
		if len(w.triggers) != 2 || len(w.notes) != 0 {
			t.Errorf("%d triggers, %d notes", len(w.triggers), len(w.notes))
		}
	})
}

// While a plan is being worked on, ticks wait and become one.
func TestATickWaitsForThePlanBefore(t *testing.T) {
	inBubble(t, func(w *world) {
		w.jobs, w.busy = []Job{w.job(ingest.Harvest, time.Hour)}, 7
		w.start("a")
		w.pass(3*time.Hour + time.Minute)
		w.plans()
		if n := w.logged("a tick waits"); n != 1 || len(w.triggers) != 0 {
			t.Errorf("said %d times, %d triggers", n, len(w.triggers))
		}
		w.do(func() { w.busy = 0 })
		w.pass(10 * time.Second)
		w.plans("a HARVEST 03:00:00 +2")
	})
}

// What earlier plans left is looked after whether or not there are schedules.
func TestUpkeep(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start("a")
		w.start("b")
		w.pass(time.Minute - time.Second)
		if w.upkeeps != 12 {
			t.Errorf("%d times in a minute, by whoever holds the lease of 15 s", w.upkeeps)
		}
	})
}

func TestSchedulesComeAndGo(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start("a")
		w.pass(time.Hour)
		if w.logged("no source that was applied has an enabled schedule") != 1 {
			t.Errorf("%s", w.log.String())
		}
		w.do(func() { w.jobs = []Job{w.job(ingest.Harvest, time.Minute)} })
		w.pass(2 * time.Minute)
		w.plans("a HARVEST 01:01:00 +0", "a HARVEST 01:02:00 +0")
		if w.logged(`following schedule=tiny/works/HARVEST when="every PT1M" next=2000-01-01T01:01:00Z`) != 1 {
			t.Errorf("%s", w.log.String())
		}
		w.do(func() { w.jobs = nil })
		w.pass(10 * time.Minute)
		w.plans("a HARVEST 01:01:00 +0", "a HARVEST 01:02:00 +0")
		if w.logged("no longer followed") != 1 {
			t.Errorf("%s", w.log.String())
		}
	})
}
