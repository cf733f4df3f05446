// Package measure holds what the work tells about itself while it is done: one value
// for each thing that is counted or timed. Services hand them to whoever measures, so
// that neither knows the other.
//
// It never holds a text of an upstream, an address or a secret: a value of it becomes
// labels and numbers that leave the machine.
package measure

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// Attempt is one request that asked the gate for its permit.
type Attempt struct {
	Waited  time.Duration // for the permit
	Refused gate.Reason   // why there was no permit; empty: there was one
	Unsent  bool          // it had its permit, and nothing of it left this machine
	Status  int           // of the answer; 0: none came
	Took    time.Duration // from the permit to the whole answer
	Bytes   int64         // of the answer on the wire
}

// Failure is a fault that ended a try or a run.
type Failure struct {
	Level fault.Level
	Again bool // the same request is tried again at once
}

// Batch is one page, and what became of it.
type Batch struct {
	Stored bool
	Stats  ingest.BatchStats // nothing unless it was stored
	Took   time.Duration     // from the first request for it until it was stored; 0: no request was needed
	Commit time.Duration     // of Took, writing it into the database
}

// Run is one attempt at a task that ended.
type Run struct {
	Outcome ingest.Outcome
	Covered bool // it wrote an event of its cursor: the slice is read to its end
}
