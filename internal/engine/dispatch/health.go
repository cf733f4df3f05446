package dispatch

import (
	"context"
	"sync"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// ours counts the tasks of this process, by partition.
type ours struct {
	mu    *sync.Mutex
	tasks map[ingest.Partition]int
}

func newOurs() ours { return ours{&sync.Mutex{}, map[ingest.Partition]int{}} }

func (o ours) noteBegun(p ingest.Partition) { o.addRunning(p, 1) }

func (o ours) noteEnded(p ingest.Partition) { o.addRunning(p, -1) }

func (o ours) addRunning(p ingest.Partition, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tasks[p] += n; o.tasks[p] == 0 {
		delete(o.tasks, p)
	}
}

func (o ours) countRunning(p ingest.Partition) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tasks[p]
}

// admitQueues lowers C_max to what the health of each partition allows, and leaves out
// those of which this process has its share.
func (d *Dispatcher) admitQueues(ctx context.Context, queues []ingest.Queue, without map[string]bool) (out []ingest.Queue) {
	for _, q := range queues {
		if without[q.Partition.Source] || d.ours.countRunning(q.Partition) >= d.ownShare(q.MaxConcurrent) {
			continue
		}
		q.MaxConcurrent = d.health.Concurrency(ctx, q.Partition, q.MaxConcurrent)
		out = append(out, q)
	}
	return out
}

// judgeOutcome takes in what became of a task.
func (d *Dispatcher) judgeOutcome(ctx context.Context, p ingest.Partition, o ingest.Outcome) {
	if o.Apart && o.Run == ingest.RunFailed {
		return
	}
	if well, telling := verdictOf(o); telling {
		d.health.Run(ctx, p, well)
	}
	if o.Task == ingest.TaskSucceeded || o.Task == ingest.TaskFailed {
		d.health.Task(ctx, p, o.Task == ingest.TaskSucceeded)
	}
}

// verdictOf tells what an outcome says about the health of its upstream. A stop says
// nothing, and neither does a request that will never work.
func verdictOf(o ingest.Outcome) (well, telling bool) {
	switch {
	case o.Run == ingest.RunSucceeded, o.Run == ingest.RunPartial:
		return true, true
	case o.Code == string(fault.RateLimited):
		return false, !o.Waits.Own() // a limit of our own says nothing of the upstream
	case o.Run == ingest.RunFailed:
		return false, fault.New(fault.Code(o.Code), nil).Level == fault.Transient
	}
	return false, false
}
