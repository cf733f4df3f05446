package ingest

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// Queue is a partition with queued tasks.
type Queue struct {
	PartitionID   int64
	Partition     Partition
	Paused        bool
	CoolingUntil  time.Time
	CoolingCode   gate.Reason
	RateKey       string // under which its requests are counted
	MaxConcurrent int    // C_max
	Running       int    // leased tasks over the whole store
	Breaker       fault.Breaker
	Endpoint      int       // leased tasks of the endpoint, whatever their operation
	Priority      int       // of the first queued task
	ScheduledAt   time.Time // of the first queued task
}

// ClaimRequest asks for the first tasks of a partition. Token identifies the
// request: repeating it gives the tasks it got, not others.
type ClaimRequest struct {
	PartitionID int64
	Owner       string
	Token       string
	Lease       time.Duration
	Max         int
}
