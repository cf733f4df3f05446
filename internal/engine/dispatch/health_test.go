package dispatch

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

var (
	wentWell = ingest.Outcome{Task: ingest.TaskSucceeded, Run: ingest.RunSucceeded}
	noAnswer = ingest.Outcome{Task: ingest.TaskScheduled, Run: ingest.RunFailed, Code: string(fault.Network)}
)

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name          string
		outcome       ingest.Outcome
		well, telling bool
	}{
		{"read to its end", wentWell, true, true},
		{"read half-way", ingest.Outcome{Run: ingest.RunPartial, Code: string(fault.Budget)}, true, true},
		{"no answer", noAnswer, false, true},
		{"out of attempts", ingest.Outcome{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: string(fault.ServerError)}, false, true},
		{"told to slow down", ingest.Outcome{Task: ingest.TaskScheduled, Run: ingest.RunCancelled, Code: string(fault.RateLimited)}, false, true},
		{"a request that never works", ingest.Outcome{Run: ingest.RunFailed, Code: string(fault.BadRequest)}, false, false},
		{"refused", ingest.Outcome{Run: ingest.RunFailed, Code: string(fault.Unauthorized)}, false, false},
		{"stopped", ingest.Outcome{Task: ingest.TaskQueued, Run: ingest.RunCancelled, Code: string(fault.Interrupted)}, false, false},
	} {
		if well, telling := verdictOf(c.outcome); telling != c.telling || telling && well != c.well {
			t.Errorf("%s: well %v, telling %v", c.name, well, telling)
		}
	}
}

// §9.7: a partition in trouble gets fewer tasks at once, others do not, and it
// gets them back when it is well again.
func TestTroubledPartitionIsSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{limits: map[int64]int{1: 8, 2: 8}}
		const trouble = 60
		for i := range int64(200) {
			l.add(waiting{id: i, partition: 1, priority: 10}, waiting{id: 1000 + i, partition: 2, priority: 10})
		}
		var log bytes.Buffer
		c := &crew{line: l, takes: time.Second, ends: func(task int64) ingest.Outcome {
			if task < trouble {
				return noAnswer
			}
			return wentWell
		}}
		d := New(l, c, Config{Workers: 16}, slog.New(slog.NewTextHandler(&log, nil)))
		if err := d.Run(t.Context(), l.empty); err != nil {
			t.Fatal(err)
		}
		together := func(from, to int64) (most int) {
			for i := from; i < to; i++ {
				n := 0
				for j := from; j < to; j++ {
					if gap := c.began[i].Sub(c.began[j]); gap >= 0 && gap < time.Second {
						n++
					}
				}
				most = max(most, n)
			}
			return most
		}
		if early, late, well := together(0, 11), together(50, trouble), together(180, 200); early != 8 || late != 1 || well != 8 {
			t.Errorf("%d at once at first, %d in trouble, %d in the end", early, late, well)
		}
		if other := together(1000, 1200); other != 8 {
			t.Errorf("the healthy partition had %d at once", other)
		}
		if text := log.String(); strings.Count(text, "msg=condition ") != 3 || strings.Count(text, `msg="condition eased"`) != 3 ||
			!strings.Contains(text, "source=source-1 endpoint=works operation=HARVEST condition=RUNS_FAILING severity=1") {
			t.Errorf("log\n%s", text)
		}
	})
}

// D§5.23: a process takes no more tasks than it may have requests under way, and
// none where it may have none: the task would keep others from the place.
func TestShareOfAPartition(t *testing.T) {
	for _, c := range []struct{ limit, rank, n, want int }{{3, 0, 1, 3}, {3, 0, 2, 2}, {3, 1, 2, 1}, {1, 0, 2, 1}} {
		synctest.Test(t, func(t *testing.T) {
			l := &line{limits: map[int64]int{1: c.limit}}
			for i := range int64(12) {
				l.add(waiting{id: i, partition: 1})
			}
			w := &crew{line: l, takes: time.Second}
			share := func() (int, int) { return c.rank, c.n }
			if err := New(l, w, Config{Workers: 8, Share: share}, silent).Run(t.Context(), l.empty); err != nil {
				t.Fatal(err)
			}
			if w.most != c.want || w.finished != 12 {
				t.Errorf("limit %d, process %d of %d: %d at once, %d done", c.limit, c.rank, c.n, w.most, w.finished)
			}
		})
	}
	l := (&line{limits: map[int64]int{1: 1}}).add(waiting{id: 1, partition: 1})
	d := New(l, &crew{line: l}, Config{Share: func() (int, int) { return 1, 2 }}, silent)
	if work, err := d.claimNext(t.Context(), nil); work != nil || err != nil || len(l.claims) != 0 {
		t.Errorf("a process without a share took %+v, %v", work, err)
	}
}
