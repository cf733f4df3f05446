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
