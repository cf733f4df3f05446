package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/dispatch"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// rotation: what dispatch is fair by comes from the store, so the order is tried
// with real queues and many partitions.
func (s suite) rotation(t *testing.T) {
	s.test(t, "C_max is what the newest plan declares", func(w *world) {
		limit := func() int {
			queues, err := w.Store.Queues(w.Ctx)
			w.Must(err)
			return queues[0].MaxConcurrent
		}
		for i, c := range []struct{ declared, want int }{{0, 4}, {3, 3}, {0, 3}, {7, 7}} {
			h := fixture.Harvest{Trigger: fmt.Sprint(i)}
			id, err := w.Store.RecordTrigger(w.Ctx, h.NewTrigger())
			w.Must(err)
			in := h.NewPlan(id)
			in.MaxConcurrent = c.declared
			plan, _, err := w.Store.OpenPlan(w.Ctx, in)
			w.Must(err)
			w.Must(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices(), true))
			if got := limit(); got != c.want {
				w.Errorf("declared %d, C_max is %d, want %d", c.declared, got, c.want)
			}
		}
	})
	s.test(t, "leases count over the whole store", func(w *world) {
		h := fixture.Harvest{Days: 5}
		w.Plan(h)
		for i, handle := range w.Handles(3) {
			request := w.Request(h, 1)
			request.Owner = fmt.Sprintf("process-%d", i)
			_, err := handle.Claim(w.Ctx, request)
			w.Must(err)
		}
		queues, err := w.Store.Queues(w.Ctx)
		w.Must(err)
		if len(queues) != 1 || queues[0].Running != 3 || queues[0].Partition.Operation != ingest.Harvest {
			w.Errorf("%+v", queues)
		}
	})
	s.test(t, "many partitions are served in turn, the urgent ones first", func(w *world) {
		const sources, tasks = 25, 4
		for i := range sources {
			name := fmt.Sprintf("source-%02d", i)
			w.Plan(fixture.Harvest{Source: name, Days: tasks})
			w.Plan(fixture.Harvest{Source: name, Operation: ingest.Backfill, Trigger: "old", Days: tasks})
		}
		crew := &workforce{w: w, store: w.Store}
		w.Must(dispatch.New(w.Store, crew, dispatch.Config{Workers: 1, Owner: "worker"}, quiet).Run(w.Ctx, crew.allDone))
		for i, op := range []ingest.Operation{ingest.Harvest, ingest.Backfill} {
			for round := range tasks {
				seen := map[ingest.Partition]int{}
				for _, p := range crew.order[(i*tasks+round)*sources : (i*tasks+round+1)*sources] {
					seen[p]++
				}
				for p, n := range seen {
					if n != 1 || p.Operation != op {
						w.Errorf("round %d of %s served %v %d times", round+1, op, p, n)
					}
				}
			}
		}
	})
}

var quiet = slog.New(slog.DiscardHandler)

// workforce works on tasks as an executor does, one page each. Some of its workers
// disappear and leave a lease behind.
type workforce struct {
	w       *world
	store   *store.Store
	vanish  func(ingest.Work) bool
	mu      sync.Mutex
	order   []ingest.Partition
	effects map[int64]int // tasks that were finished under a valid lease
}

func (f *workforce) allDone(context.Context) (bool, error) {
	var n int
	err := f.w.DB.SQL.QueryRowContext(f.w.Ctx, "SELECT COUNT(*) FROM ing_task WHERE status_code <> 'SUCCEEDED'").Scan(&n)
	return n == 0, err
}

func (f *workforce) Execute(_ context.Context, one ingest.Work) (ingest.Outcome, error) {
	f.mu.Lock()
	f.order = append(f.order, one.Partition)
	vanishes := f.vanish != nil && f.vanish(one)
	f.mu.Unlock()
	run, err := f.store.StartRun(f.w.Ctx, one, fixture.Lease)
	if err != nil {
		return ingest.Outcome{}, err
	}
	one.Lineage.RunID = run.ID
	a := &fixture.Attempt{W: f.w.World, Work: one, Run: run}
	page := a.Page(fixture.Item(fmt.Sprint("record of task ", one.Lease.TaskID), "x", fixture.Noon))
	if _, err := f.store.CommitBatch(f.w.Ctx, page); err != nil || vanishes {
		return ingest.Outcome{}, err
	}
	if err := f.store.FinishRun(f.w.Ctx, a.Ending(fixture.Succeeded)); err != nil {
		return ingest.Outcome{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.effects == nil {
		f.effects = map[int64]int{}
	}
	f.effects[one.Lease.TaskID]++
	return fixture.Succeeded, nil
}

// dispatchers: several processes with several workers each share the queue. No
// task is lost and none takes effect twice, also when workers disappear.
func (s suite) dispatchers(t *testing.T) {
	s.test(t, "two share 200 tasks without loss or double effect", func(w *world) {
		const tasks = 200
		plans := []fixture.Harvest{{Source: "one", Days: tasks / 2}, {Source: "two", Days: tasks / 2}}
		for _, h := range plans {
			w.Plan(h)
		}
		crews := make([]*workforce, 2)
		for i, handle := range w.Handles(2) {
			crews[i] = &workforce{w: w, store: handle, vanish: func(one ingest.Work) bool {
				if one.Lease.Epoch > 1 || one.Lease.TaskID%20 != 0 {
					return false
				}
				w.Clock.Advance(fixture.Lease / 2) // in time its lease runs out
				return true
			}}
		}
		w.Together(len(crews), func(i int) error {
			config := dispatch.Config{Workers: 4, Owner: fmt.Sprint("process-", i), Lease: fixture.Lease, Poll: 20 * time.Millisecond}
			return dispatch.New(crews[i].store, crews[i], config, quiet).Run(w.Ctx, func(ctx context.Context) (bool, error) {
				w.Clock.Advance(fixture.Lease / 4)
				return crews[i].allDone(ctx)
			})
		})
		total := 0
		for i, c := range crews {
			total += len(c.effects)
			for task, n := range c.effects {
				if other := crews[1-i].effects[task]; n+other != 1 {
					w.Errorf("task %d took effect %d times", task, n+other)
				}
			}
		}
		if total != tasks {
			w.Errorf("%d tasks took effect, want %d", total, tasks)
		}
		for what, query := range map[string]string{
			"tasks":          "SELECT COUNT(*) FROM ing_task WHERE status_code = 'SUCCEEDED'",
			"runs":           "SELECT COUNT(*) FROM ing_task_run WHERE status_code = 'SUCCEEDED'",
			"records":        "SELECT COUNT(*) FROM ing_record WHERE version = 1",
			"events":         "SELECT COUNT(*) FROM ing_outbox_message",
			"covered slices": "SELECT COUNT(*) FROM ing_cursor_event WHERE kind_code = 'SUCCEEDED'",
		} {
			if n := w.Number(query); n != tasks {
				w.Errorf("%d %s, want %d", n, what, tasks)
			}
		}
		// Of a worker that vanished, or before it began: then there is no run of it.
		if n := w.Number("SELECT COUNT(*) FROM ing_task WHERE lease_count > 1"); n < tasks/20 {
			w.Errorf("%d tasks were leased again, want at least %d", n, tasks/20)
		}
		for _, h := range plans {
			w.Verified(h)
			w.CursorAt(h, tasks/2+1)
		}
	})
}
