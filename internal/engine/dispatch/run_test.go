package dispatch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

func TestWorksThroughAllTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{limits: map[int64]int{1: 100, 2: 100}}
		for i := range int64(25) {
			l.add(waiting{id: i, partition: 1 + i%2, priority: 10})
		}
		c, began := &crew{line: l, takes: time.Second}, time.Now()
		if err := New(l, c, Config{Workers: 5, Owner: "me", Lease: 30 * time.Second}, silent).Run(t.Context(), l.empty); err != nil {
			t.Fatal(err)
		}
		if c.finished != 25 || c.most != 5 {
			t.Errorf("%d of 25 done, %d at once", c.finished, c.most)
		}
		if took := time.Since(began); took > 6500*time.Millisecond {
			t.Errorf("25 tasks of a second with 5 workers took %v: a free worker waited", took)
		}
		tokens := map[string]bool{}
		for _, r := range l.claims {
			if tokens[r.Token] || len(r.Token) != 32 || r.Owner != "me" || r.Lease != 30*time.Second || r.Max != 1 {
				t.Errorf("claim %+v", r)
			}
			tokens[r.Token] = true
		}
	})
}

// D§5.2: best priority first, rotation among equals, no partition above its limit.
func TestChoosesFairly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		for i := range int64(4) {
			l.add(waiting{id: 90 + i, partition: 9, priority: 90}, waiting{id: 10 + i, partition: 1, priority: 10}, waiting{id: 20 + i, partition: 2, priority: 10})
		}
		c := &crew{line: l, takes: time.Second}
		if err := New(l, c, Config{Workers: 1}, silent).Run(t.Context(), l.empty); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.order); got != "[10 20 11 21 12 22 13 23 90 91 92 93]" {
			t.Errorf("order %s", got)
		}
	})
}

func TestPartitionLimitLeavesRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{limits: map[int64]int{1: 1, 2: 10}}
		for i := range int64(4) {
			l.add(waiting{id: 10 + i, partition: 1, priority: 10}, waiting{id: 20 + i, partition: 2, priority: 90})
		}
		c, began := &crew{line: l, takes: time.Second}, time.Now()
		if err := New(l, c, Config{Workers: 4}, silent).Run(t.Context(), l.empty); err != nil {
			t.Fatal(err)
		}
		for i := int64(11); i < 14; i++ {
			if gap := c.began[i].Sub(c.began[i-1]); gap < time.Second {
				t.Errorf("tasks %d and %d of a partition with room for one began %v apart", i-1, i, gap)
			}
		}
		if c.began[22].Sub(began) >= time.Second {
			t.Error("free workers did not take the other partition")
		}
	})
}

// A task that becomes due is started then, not at the end of a pause.
func TestDueTasksStartInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, began := &line{}, time.Now()
		l.add(waiting{id: 1, partition: 1, due: began.Add(90 * time.Second), scheduled: true}, waiting{id: 2, partition: 1, due: began.Add(300 * time.Millisecond), scheduled: true})
		c := &crew{line: l, takes: time.Millisecond}
		if err := New(l, c, Config{Workers: 2, Poll: 10 * time.Second}, silent).Run(t.Context(), l.empty); err != nil {
			t.Fatal(err)
		}
		for id, due := range map[int64]time.Duration{1: 90 * time.Second, 2: 300 * time.Millisecond} {
			if late := c.began[id].Sub(began) - due; late < 0 || late > 10*time.Millisecond {
				t.Errorf("task %d began %v after its time", id, late)
			}
		}
	})
}

// Work that others put into the queue is found within one poll.
func TestFindsNewWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		c := &crew{line: l, takes: time.Millisecond}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- New(l, c, Config{Workers: 2, Poll: 2 * time.Second}, silent).Run(ctx, nil) }()
		<-time.After(time.Minute)
		synctest.Wait()
		chores := l.chores
		if chores < 25 || chores > 35 {
			t.Errorf("looked %d times in a minute with nothing to do", chores)
		}
		l.add(waiting{id: 1, partition: 1})
		added := time.Now()
		<-time.After(time.Minute)
		synctest.Wait()
		if late := c.began[1].Sub(added); late < 0 || late > 2*time.Second {
			t.Errorf("found after %v", late)
		}
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// F6: told to stop, it starts nothing more and comes back when everybody has
// ended, with the reason it was given.
func TestStopWaitsForWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, why := &line{limits: map[int64]int{1: 100}}, errors.New("shutting down")
		for i := range int64(50) {
			l.add(waiting{id: i, partition: 1})
		}
		c := &crew{line: l, takes: time.Hour}
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { stop(why) })
		began := time.Now()
		err := New(l, c, Config{Workers: 3}, silent).Run(ctx, l.empty)
		if !errors.Is(err, why) || time.Since(began) != 13*time.Second {
			t.Errorf("%v after %v, want the reason after the workers' 3 s", err, time.Since(began))
		}
		if c.atWork != 0 || c.finished != 3 || len(c.order) != 3 {
			t.Errorf("%d at work, %d ended, %d begun", c.atWork, c.finished, len(c.order))
		}
	})
}

// F11: a store that does not take our writes stops everything; more requests to
// the upstream would be for nothing.
func TestStoreErrorOfAWorkerStopsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{limits: map[int64]int{1: 100}}
		for i := range int64(50) {
			l.add(waiting{id: i, partition: 1})
		}
		c, began := &crew{line: l, takes: 10 * time.Second, fails: map[int64]error{4: errFull}}, time.Now()
		err := New(l, c, Config{Workers: 3}, silent).Run(t.Context(), l.empty)
		if !errors.Is(err, errFull) || time.Since(began) > 24*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if c.atWork != 0 || len(c.order) > 9 { // those that ended at the same moment may have got a successor
			t.Errorf("%d still at work, %d tasks were begun", c.atWork, len(c.order))
		}
	})
}

func TestStoreErrorOfTheQueueStopsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := (&line{}).add(waiting{id: 1, partition: 1}, waiting{id: 2, partition: 1})
		c := &crew{line: l, takes: 10 * time.Second}
		time.AfterFunc(3*time.Second, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.broken = errFull
		})
		began := time.Now()
		if err := New(l, c, Config{Workers: 3}, silent).Run(t.Context(), l.empty); !errors.Is(err, errFull) || time.Since(began) > 8*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if c.atWork != 0 {
			t.Errorf("%d still at work", c.atWork)
		}
	})
}

// I7: a lost lease concerns one task; the others go on.
func TestLostLeaseStopsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		for i := range int64(6) {
			l.add(waiting{id: i, partition: 1})
		}
		c := &crew{line: l, takes: time.Second, fails: map[int64]error{1: fmt.Errorf("commit batch: %w", fault.ErrStale)}}
		if err := New(l, c, Config{Workers: 2}, silent).Run(t.Context(), l.empty); err != nil || c.finished != 6 {
			t.Errorf("%d of 6, %v", c.finished, err)
		}
	})
}

// D§5.20: while another process works on the store, nothing is claimed.
func TestMayClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := (&line{}).add(waiting{id: 1, partition: 1})
		c, began := &crew{line: l, takes: time.Second}, time.Now()
		mine := func(context.Context) (bool, error) { return time.Since(began) > time.Minute, nil }
		if err := New(l, c, Config{MayClaim: mine}, silent).Run(t.Context(), l.empty); err != nil {
			t.Fatal(err)
		}
		if at := c.began[1].Sub(began); at <= time.Minute || at > 62*time.Second {
			t.Errorf("claimed after %v", at)
		}
		broken := func(context.Context) (bool, error) { return false, errFull }
		if err := New(l, c, Config{MayClaim: broken}, silent).Run(t.Context(), l.empty); !errors.Is(err, errFull) {
			t.Errorf("%v", err)
		}
	})
}

func TestFinishedMayFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		err := New(l, &crew{line: l}, Config{}, silent).Run(t.Context(), func(context.Context) (bool, error) { return false, errFull })
		if !errors.Is(err, errFull) {
			t.Errorf("%v", err)
		}
	})
}

func TestDefaults(t *testing.T) {
	if c := (Config{}).WithDefaults(); c.Workers != 4 || c.Poll != time.Second || c.Lease != time.Minute {
		t.Errorf("%+v", c)
	}
}

// A process that only follows another one does not hurry because of a task that is
// due: the other one sees to it.
func TestAProcessThatMayNotClaimLooksNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := (&line{}).add(waiting{id: 1, partition: 1, priority: 10, scheduled: true, due: time.Now()})
		looks := 0
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		err := New(l, &disk{line: l}, Config{MayClaim: func(context.Context) (bool, error) { looks++; return false, nil }}, silent).Run(ctx, nil)
		if !errors.Is(err, context.DeadlineExceeded) || looks > 11 {
			t.Errorf("%d looks in ten seconds, %v", looks, err)
		}
	})
}
