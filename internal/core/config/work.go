package config

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
)

// Work is how much a process of this installation does at once, how much it plans ahead, and
// what goes first. How much one source may be asked is in its own file.
type Work struct {
	Workers    int        `json:"workers,omitempty" doc:"slices a process works on at once, where --workers does not say so (default 4)"`
	MaxWaiting int        `json:"maxWaiting,omitempty" doc:"tasks of one source, endpoint and operation that may wait before planning pauses (default 20000)"`
	Priority   Priorities `json:"priority,omitzero" doc:"place of tasks in the queue and at the rate gate, where neither the source (slicing.priority) nor --priority says so"`
}

// Priorities are the places of operations, 1 to 100: the smaller number goes first.
type Priorities struct {
	Harvest  int `json:"HARVEST,omitempty" doc:"of harvests, 1 to 100: the smaller number goes first (default 10)"`
	Update   int `json:"UPDATE,omitempty" doc:"of updates (default 50)"`
	Backfill int `json:"BACKFILL,omitempty" doc:"of backfills (default 90)"`
}

// Of returns the place of an operation; zero: the usual one.
func (p Priorities) Of(op ingest.Operation) int {
	switch op {
	case ingest.Harvest:
		return p.Harvest
	case ingest.Update:
		return p.Update
	case ingest.Backfill:
		return p.Backfill
	}
	return 0
}

func (c *checker) work(w Work) {
	for _, op := range []ingest.Operation{ingest.Harvest, ingest.Update, ingest.Backfill} {
		if given := w.Priority.Of(op); given > slicing.LastPriority {
			c.report("work.priority."+string(op), fmt.Sprintf("%d is no priority: expected 1 to %d, the smaller number goes first", given, slicing.LastPriority), "")
		}
	}
}
