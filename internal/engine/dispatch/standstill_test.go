package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// disk is a crew whose answers find no room until an instant; tasks go back to the line.
type disk struct {
	line *line
	room time.Time

	mu    sync.Mutex
	tries []time.Time
	done  int
}

var errNoRoom = fmt.Errorf("commit batch: %w", fault.ErrFull)

func (d *disk) Execute(_ context.Context, w ingest.Work) (ingest.Outcome, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tries = append(d.tries, time.Now())
	d.line.done(w)
	if time.Now().Before(d.room) {
		d.line.add(waiting{id: w.Lease.TaskID, partition: w.Lineage.PlanID, priority: 10})
		return ingest.Outcome{}, errNoRoom
	}
	d.done++
	return ingest.Outcome{}, nil
}

// A process that serves waits for room, says so once, asks the upstream less and
// less often, and goes on by itself.
func TestPatientProcessWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{limits: map[int64]int{1: 100}}
		for i := range int64(20) {
			l.add(waiting{id: i, partition: 1, priority: 10})
		}
		var log bytes.Buffer
		d := &disk{line: l, room: time.Now().Add(time.Hour)}
		began := time.Now()
		if err := New(l, d, Config{Workers: 4, Patient: true}, slog.New(slog.NewTextHandler(&log, nil))).Run(t.Context(), l.empty); err != nil {
			t.Fatal(err)
		}
		if d.done != 20 {
			t.Errorf("%d of 20 tasks were done", d.done)
		}
		if late := time.Since(began) - time.Hour; late > longFullWait+time.Second {
			t.Errorf("went on %v after there was room", late)
		}
		wasted := len(d.tries) - d.done
		if wasted > 4*20 { // four workers, at most twenty waits
			t.Errorf("%d requests in an hour without room", wasted)
		}
		text := log.String()
		if strings.Count(text, "nothing can be stored") != 1 || !strings.Contains(text, "alarm=L4 code=STORE_FULL") || strings.Count(text, "there is room again") != 1 {
			t.Errorf("said:\n%s", text)
		}
	})
}

// Also where the queue itself cannot be written.
func TestPatientProcessWaitsWhenItCannotClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := (&line{broken: errNoRoom}).add(waiting{id: 1, partition: 1, priority: 10})
		time.AfterFunc(time.Minute, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.broken = nil
		})
		d := &disk{line: l}
		if err := New(l, d, Config{Patient: true}, silent).Run(t.Context(), l.empty); err != nil || d.done != 1 {
			t.Errorf("%d done, %v", d.done, err)
		}
	})
}

// Whoever harvests by hand is told at once.
func TestOthersEndWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := (&line{}).add(waiting{id: 1, partition: 1, priority: 10})
		d := &disk{line: l, room: time.Now().Add(time.Hour)}
		if err := New(l, d, Config{}, silent).Run(t.Context(), l.empty); !errors.Is(err, fault.ErrFull) || len(d.tries) != 1 {
			t.Errorf("%d tries, %v", len(d.tries), err)
		}
	})
}

// Told to stop, it does not wait any longer.
func TestStopEndsTheWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := (&line{}).add(waiting{id: 1, partition: 1, priority: 10})
		d := &disk{line: l, room: time.Now().Add(time.Hour)}
		ctx, stop := context.WithTimeout(t.Context(), 7*time.Second)
		defer stop()
		began := time.Now()
		if err := New(l, d, Config{Patient: true}, silent).Run(ctx, l.empty); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 7*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// errAway is what a step says whose server was gone for all its tries.
var errAway = fmt.Errorf("claim: %w: connection lost", fault.ErrBusy)

// mends the line after a while.
func (l *line) mends(after time.Duration) {
	time.AfterFunc(after, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.broken = nil
	})
}

// A database that is away for an hour, at night: a process that serves says so,
// calls somebody when it lasts, and goes on soon after the database is back.
func TestPatientProcessOutlivesItsDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := (&line{broken: errAway}).add(waiting{id: 1, partition: 1, priority: 10})
		l.mends(time.Hour)
		d := &disk{line: l}
		var log bytes.Buffer
		began := time.Now()
		if err := New(l, d, Config{Patient: true}, slog.New(slog.NewTextHandler(&log, nil))).Run(t.Context(), l.empty); err != nil || d.done != 1 {
			t.Fatalf("%d done, %v", d.done, err)
		}
		if late := time.Since(began) - time.Hour; late > longAwayWait+2*time.Second {
			t.Errorf("went on %v after the database was back", late)
		}
		text := log.String()
		for word, times := range map[string]int{"the database takes nothing": 1, "alarm=L4 code=STORE_BUSY": 1, "the database answers again": 1} {
			if strings.Count(text, word) != times {
				t.Errorf("%q is not said %d times:\n%s", word, times, text)
			}
		}
	})
}

// Whoever harvests by hand does not lose the evening to a server that starts anew,
// and is told when it does not come back.
func TestOthersWaitBrieflyForTheDatabase(t *testing.T) {
	for _, c := range []struct {
		away  time.Duration
		lives bool
	}{{3 * time.Second, true}, {time.Hour, false}} {
		synctest.Test(t, func(t *testing.T) {
			l := (&line{broken: errAway}).add(waiting{id: 1, partition: 1, priority: 10})
			l.mends(c.away)
			d := &disk{line: l}
			began := time.Now()
			err := New(l, d, Config{}, silent).Run(t.Context(), l.empty)
			if c.lives && (err != nil || d.done != 1) {
				t.Errorf("away for %v: %d done, %v", c.away, d.done, err)
			}
			if !c.lives && (!errors.Is(err, fault.ErrBusy) || time.Since(began) > 2*briefly) {
				t.Errorf("away for %v: %v after %v", c.away, err, time.Since(began))
			}
		})
	}
}

// A task whose end could not be stored is nobody's fault either: the others go on.
func TestAnEndThatCouldNotBeStoredDoesNotEndTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		for i := range int64(6) {
			l.add(waiting{id: i, partition: 1, priority: 10})
		}
		lost := 0
		worker := workerFunc(func(w ingest.Work) error {
			defer l.done(w)
			if w.Lease.TaskID == 2 && lost == 0 {
				lost++
				l.add(waiting{id: 2, partition: 1, priority: 10}) // reaped when its lease has run out
				return fmt.Errorf("finish run: %w", errAway)
			}
			return nil
		})
		if err := New(l, worker, Config{Workers: 1}, silent).Run(t.Context(), l.empty); err != nil || lost != 1 || len(l.claims) < 7 {
			t.Errorf("%d lost, %d claims, %v", lost, len(l.claims), err)
		}
	})
}

type workerFunc func(ingest.Work) error

func (f workerFunc) Execute(_ context.Context, w ingest.Work) (ingest.Outcome, error) {
	return ingest.Outcome{}, f(w)
}

// The queue answers, but nobody can tell whether all is done: that is no less a
// database that is away, and whoever harvests by hand is told of it.
func TestAnEndThatCannotBeSeenIsWaitedForBriefly(t *testing.T) {
	for _, patient := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			looks := 0
			var log bytes.Buffer
			finished := func(context.Context) (bool, error) { looks++; return false, errAway }
			began := time.Now()
			err := New(&line{}, &disk{}, Config{Patient: patient}, slog.New(slog.NewTextHandler(&log, nil))).Run(ctx, finished)
			switch {
			case !patient && (!errors.Is(err, fault.ErrBusy) || time.Since(began) > 2*briefly):
				t.Errorf("%v after %v and %d looks", err, time.Since(began), looks)
			case patient && (!errors.Is(err, context.DeadlineExceeded) || looks > 150 || strings.Count(log.String(), "alarm=L4 code=STORE_BUSY") != 1):
				t.Errorf("%d looks, %v, said:\n%.2000s", looks, err, log.String())
			}
		})
	}
}
