package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// line is a queue in memory: what dispatch sees of a store.
type line struct {
	mu     sync.Mutex
	tasks  []waiting
	limits map[int64]int // C_max; two where unset
	held   map[int64]int // leased, by partition
	claims []ingest.ClaimRequest
	chores int // calls of Reap
	broken error
}

type waiting struct {
	id        int64
	partition int64
	priority  int
	due       time.Time
	scheduled bool
}

// source is the partition with a number.
func source(id int64) ingest.Partition {
	return ingest.Partition{Dataset: ingest.Dataset{Source: fmt.Sprint("source-", id), Endpoint: "works"}, Operation: ingest.Harvest}
}

func (l *line) add(tasks ...waiting) *line {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks = append(l.tasks, tasks...)
	return l
}

func (l *line) Now(context.Context) (time.Time, error) { return time.Now(), nil }

func (l *line) Queues(context.Context) (out []ingest.Queue, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	best := map[int64]ingest.Queue{}
	for _, w := range l.tasks {
		q, known := best[w.partition]
		if w.scheduled || known && q.Priority <= w.priority {
			continue
		}
		best[w.partition] = ingest.Queue{PartitionID: w.partition, Partition: source(w.partition), RateKey: fmt.Sprint("key-", w.partition), Priority: w.priority, Running: l.held[w.partition], MaxConcurrent: cmp.Or(l.limits[w.partition], 2)}
	}
	for _, q := range best {
		out = append(out, q)
	}
	return out, l.broken
}

func (l *line) Claim(_ context.Context, r ingest.ClaimRequest) ([]ingest.Work, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims = append(l.claims, r)
	at := slices.IndexFunc(l.tasks, func(w waiting) bool { return w.partition == r.PartitionID && !w.scheduled })
	if at < 0 {
		return nil, nil
	}
	task := l.tasks[at]
	l.tasks = slices.Delete(l.tasks, at, at+1)
	if l.held == nil {
		l.held = map[int64]int{}
	}
	l.held[r.PartitionID]++
	return []ingest.Work{{Partition: source(r.PartitionID), Lease: ingest.Lease{TaskID: task.id, Epoch: 1, Owner: r.Owner}, Lineage: ingest.Lineage{TaskID: task.id, PlanID: task.partition}}}, nil
}

// done gives the lease of a task back.
func (l *line) done(w ingest.Work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[w.Lineage.PlanID]--
}

func (l *line) Promote(context.Context, int) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, w := range l.tasks {
		if w.scheduled && !w.due.After(time.Now()) {
			l.tasks[i].scheduled = false
			n++
		}
	}
	return n, nil
}

func (l *line) Reap(context.Context, int) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chores++
	return 0, nil
}

func (l *line) NextDue(context.Context) (due time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.tasks {
		if w.scheduled && (due.IsZero() || w.due.Before(due)) {
			due = w.due
		}
	}
	return due, nil
}

// empty is what a caller asks: is all work done.
func (l *line) empty(context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.tasks) == 0, nil
}

// crew works on tasks for a while and notes who was at work.
type crew struct {
	line  *line
	takes time.Duration
	fails map[int64]error // by task
	ends  func(task int64) ingest.Outcome

	mu       sync.Mutex
	order    []int64
	began    map[int64]time.Time
	atWork   int
	most     int
	finished int
}

func (c *crew) Execute(ctx context.Context, w ingest.Work) (ingest.Outcome, error) {
	c.mu.Lock()
	c.order = append(c.order, w.Lease.TaskID)
	if c.began == nil {
		c.began = map[int64]time.Time{}
	}
	c.began[w.Lease.TaskID] = time.Now()
	c.atWork++
	c.most = max(c.most, c.atWork)
	c.mu.Unlock()
	var err error
	select {
	case <-time.After(c.takes):
		err = c.fails[w.Lease.TaskID]
	case <-ctx.Done():
		<-time.After(3 * time.Second) // ending well takes a moment too
		err = context.Cause(ctx)
	}
	c.line.done(w)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.atWork--
	c.finished++
	if c.ends != nil && err == nil {
		return c.ends(w.Lease.TaskID), nil
	}
	return ingest.Outcome{}, err
}

var (
	silent  = slog.New(slog.DiscardHandler)
	errFull = errors.New("disk full")
)
