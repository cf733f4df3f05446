package dispatch

import (
	"log/slog"
	"sync"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// health is what this process knows of its own partitions: how many of their
// tasks it works on, and how the last ones went. It is not stored: another
// process finds out for itself.
type health struct {
	log   *slog.Logger
	mu    *sync.Mutex
	known map[ingest.Partition]*condition
}

type condition struct {
	pace     gate.Pace
	declared int // C_max as the store last said
	ours     int // tasks of this process
}

func newHealth(log *slog.Logger) health {
	return health{log: log, mu: &sync.Mutex{}, known: map[ingest.Partition]*condition{}}
}

func (h health) of(p ingest.Partition) *condition {
	c := h.known[p]
	if c == nil {
		c = &condition{}
		h.known[p] = c
	}
	return c
}

// admit lowers C_max to what the health of each partition allows, and leaves out
// those of which this process has its share.
func (h health) admit(queues []ingest.Queue, share func(int) int) []ingest.Queue {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []ingest.Queue
	for _, q := range queues {
		c := h.of(q.Partition)
		c.declared = q.MaxConcurrent
		if c.ours < share(c.declared) {
			q.MaxConcurrent = c.pace.Limit(c.declared)
			out = append(out, q)
		}
	}
	return out
}

func (h health) began(q ingest.Queue) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of(q.Partition).ours++
}

// ended takes in what became of a task.
func (h health) ended(p ingest.Partition, o ingest.Outcome, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.of(p)
	c.ours--
	well, telling := verdict(o)
	if err != nil || !telling {
		return
	}
	before := c.pace.Limit(c.declared)
	c.pace = c.pace.Note(well, c.declared)
	about := []any{"source", p.Source, "endpoint", p.Endpoint, "operation", p.Operation, "from", before, "to", c.pace.Limit(c.declared), "declared", c.declared}
	switch after := c.pace.Limit(c.declared); {
	case after < before:
		h.log.Warn("fewer tasks at once: most of the last ones failed", append(about, "last", o.Code)...)
	case after > before:
		h.log.Info("more tasks at once: the last ones went well", about...)
	}
}

// verdict is what an outcome says of the health of its upstream. A stop says
// nothing, and neither does a request that will never work.
func verdict(o ingest.Outcome) (well, telling bool) {
	switch {
	case o.Run == ingest.RunSucceeded, o.Run == ingest.RunPartial:
		return true, true
	case o.Code == string(fault.RateLimited):
		return false, true
	case o.Run == ingest.RunFailed:
		return false, fault.New(fault.Code(o.Code), nil).Level == fault.Transient
	}
	return false, false
}
