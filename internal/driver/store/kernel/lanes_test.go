package kernel

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
)

// queued starts a waiter and returns when it stands in its lane. What it does
// with its turn is up to the test.
func queued(t *testing.T, l *lanes, in Lane, turn func()) {
	t.Helper()
	go func() {
		if err := l.enterLane(t.Context(), in); err != nil {
			t.Errorf("enter: %v", err)
			return
		}
		turn()
		l.leaveLane()
	}()
	synctest.Wait()
}

func TestUrgentStepsOvertakeBulkOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lanes
		if err := l.enterLane(t.Context(), Bulk); err != nil {
			t.Fatal(err)
		}
		var order []string
		note := func(name string) func() { return func() { order = append(order, name) } }
		queued(t, &l, Bulk, note("bulk 1"))
		queued(t, &l, Urgent, note("urgent 1"))
		queued(t, &l, Bulk, note("bulk 2"))
		queued(t, &l, Urgent, note("urgent 2"))
		if order != nil {
			t.Fatalf("%v went while the lane was held", order)
		}
		l.leaveLane()
		synctest.Wait()
		want := []string{"urgent 1", "urgent 2", "bulk 1", "bulk 2"}
		if !reflect.DeepEqual(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		if l.held {
			t.Error("the lane is still held")
		}
	})
}

func TestAnUrgentStepThatComesLateStillOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lanes
		_ = l.enterLane(t.Context(), Bulk)
		var order []string
		arrive := make(chan struct{})
		queued(t, &l, Bulk, func() {
			order = append(order, "bulk 1")
			<-arrive
		})
		queued(t, &l, Bulk, func() { order = append(order, "bulk 2") })
		l.leaveLane()
		synctest.Wait() // bulk 1 is at work
		queued(t, &l, Urgent, func() { order = append(order, "urgent") })
		close(arrive)
		synctest.Wait()
		if want := []string{"bulk 1", "urgent", "bulk 2"}; !reflect.DeepEqual(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}

func TestOneAtATime(t *testing.T) {
	var l lanes
	inside, most := 0, 0
	done := make(chan struct{})
	for i := range 50 {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 20 {
				if err := l.enterLane(t.Context(), Lane(i%2)); err != nil {
					t.Error(err)
					return
				}
				inside++ // the race detector watches too
				most = max(most, inside)
				inside--
				l.leaveLane()
			}
		}()
	}
	for range 50 {
		<-done
	}
	if most != 1 || l.held {
		t.Errorf("%d inside at once, held=%v at the end", most, l.held)
	}
}

func TestWhoGivesUpWaitingLeavesTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lanes
		_ = l.enterLane(t.Context(), Bulk)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- l.enterLane(ctx, Bulk) }()
		synctest.Wait()
		var order []string
		queued(t, &l, Bulk, func() { order = append(order, "next") })
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if n := len(l.waiting[Bulk]); n != 1 {
			t.Errorf("%d are waiting, want 1", n)
		}
		l.leaveLane()
		synctest.Wait()
		if len(order) != 1 || l.held {
			t.Errorf("order %v, held=%v", order, l.held)
		}
	})
}

// The turn and the cancellation come at the same moment: the waiter has been
// taken off the list, and gives up. Its turn must go to the next.
func TestATurnThatComesTooLateIsHandedOn(t *testing.T) {
	for _, othersWait := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var l lanes
			_ = l.enterLane(t.Context(), Bulk)
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan error, 1)
			go func() { left <- l.enterLane(ctx, Bulk) }()
			synctest.Wait()
			var order []string
			if othersWait {
				queued(t, &l, Bulk, func() { order = append(order, "next") })
			}
			l.mu.Lock()
			cancel()   // wakes the waiter, who then waits for the mutex …
			l.passOn() // … while its turn comes
			l.mu.Unlock()
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			synctest.Wait()
			if othersWait != (len(order) == 1) || l.held {
				t.Errorf("order %v, held=%v: the turn was lost", order, l.held)
			}
			if err := l.enterLane(t.Context(), Urgent); err != nil {
				t.Error(err)
			}
		})
	}
}
