package trigger

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

func TestOneProcessPlans(t *testing.T) {
	inBubble(t, func(w *world) {
		w.jobs = []Job{w.job(ingest.Harvest, time.Hour)}
		w.start("a")
		w.pass(time.Second)
		w.start("b")
		w.pass(3 * time.Hour)
		w.plans("a HARVEST 01:00:00 +0", "a HARVEST 02:00:00 +0", "a HARVEST 03:00:00 +0")
		if n := w.logged("standing by"); n != 1 {
			t.Errorf("said %d times", n)
		}
	})
}

// A process that stops hands over at once; one that dies is waited for until its
// lease has run out. No tick is lost and none is planned twice.
func TestTakeover(t *testing.T) {
	for name, leave := range map[string]func(*process){"stopped": (*process).end, "killed": (*process).kill} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.jobs = []Job{w.job(ingest.Harvest, time.Minute)}
				a := w.start("a")
				w.pass(time.Second)
				w.start("b")
				w.pass(118 * time.Second)
				leave(a)
				w.pass(61 * time.Second)
				w.plans("a HARVEST 00:01:00 +0", "b HARVEST 00:02:00 +0", "b HARVEST 00:03:00 +0")
				if w.epoch != 2 {
					t.Errorf("epoch %d", w.epoch)
				}
			})
		})
	}
}

// A process that slept through its lease finds that it was taken, and stands by.
func TestALostLeaseIsNoticed(t *testing.T) {
	inBubble(t, func(w *world) {
		w.jobs = []Job{w.job(ingest.Harvest, time.Minute)}
		w.start("a")
		w.pass(time.Second)
		w.do(func() { w.owner, w.epoch, w.until = "b", 2, time.Now().Add(90*time.Second) })
		w.pass(80 * time.Second)
		w.plans()
		if w.logged("took the planner lease") != 1 || w.logged("standing by") != 1 {
			t.Errorf("%s", w.log.String())
		}
		w.pass(40 * time.Second) // b never renews
		w.plans("a HARVEST 00:01:00 +0", "a HARVEST 00:02:00 +0")
	})
}

// However often processes come and go, every tick is planned once.
func TestManyTakeovers(t *testing.T) {
	inBubble(t, func(w *world) {
		w.jobs = []Job{w.job(ingest.Harvest, time.Minute)}
		for i := range 20 {
			p := w.start(string(rune('a' + i)))
			w.pass(time.Duration(37+11*i) * time.Second)
			if i%3 == 0 {
				p.kill()
			} else {
				p.end()
			}
		}
		var ticks []string
		for _, line := range w.planned {
			ticks = append(ticks, line[len("a HARVEST "):len("a HARVEST 00:00:00")])
		}
		if !slices.IsSorted(ticks) || len(slices.Compact(slices.Clone(ticks))) != len(ticks) || len(ticks) < 30 {
			t.Errorf("%q", w.planned)
		}
		if len(w.triggers) != len(ticks) {
			t.Errorf("%d triggers for %d ticks", len(w.triggers), len(ticks))
		}
	})
}

// A database that is away for a while is no reason to end.
func TestTheDatabaseComesBack(t *testing.T) {
	inBubble(t, func(w *world) {
		w.jobs = []Job{w.job(ingest.Harvest, time.Minute)}
		w.start("a")
		w.pass(30 * time.Second)
		w.do(func() { w.dead["a"] = true })
		w.pass(3 * time.Minute)
		w.plans()
		w.do(func() { w.dead["a"] = false })
		w.pass(10 * time.Second)
		w.plans("a HARVEST 00:03:00 +2")
		if w.logged("level=WARN") == 0 {
			t.Error("nobody was told")
		}
	})
}

// Planning may take minutes, because sizes are asked for at the rate the upstream
// allows: the lease is kept meanwhile, and no second process starts on the same.
func TestLeaseIsKeptWhilePlanning(t *testing.T) {
	inBubble(t, func(w *world) {
		w.jobs = []Job{w.job(ingest.Harvest, time.Hour)}
		w.takes = 10 * time.Minute
		w.start("a")
		w.pass(time.Second)
		w.start("b")
		w.pass(time.Hour + 5*time.Minute)
		if w.owner != "a" || w.epoch != 1 {
			t.Errorf("the lease went to %s, epoch %d", w.owner, w.epoch)
		}
	})
}

// A large plan that goes on does not keep ticks waiting.
func TestUpkeepDoesNotKeepTicksWaiting(t *testing.T) {
	inBubble(t, func(w *world) {
		w.jobs = []Job{w.job(ingest.Harvest, time.Hour)}
		w.upkeep = func(ctx context.Context) error {
			<-ctx.Done() // never done
			return ctx.Err()
		}
		w.start("a")
		w.pass(time.Hour + 30*time.Second)
		w.plans("a HARVEST 01:00:00 +0")
	})
}
