package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// SlotLength is how much time one row of sums stands for.
type SlotLength time.Duration

// The lengths of slots, and how long the short ones are kept. Hours are kept as long as
// runs are.
const (
	ShortSlot     = SlotLength(5 * time.Minute)
	HourSlot      = SlotLength(time.Hour)
	ShortSlotKept = 48 * time.Hour
)

// Start returns when the slot begins that an instant lies in.
func (l SlotLength) Start(at time.Time) time.Time { return at.UTC().Truncate(time.Duration(l)) }

// mostShort is the longest range that is read from short slots: a longer one has so many
// of them that their precision at its ends is not worth it.
const mostShort = 6 * time.Hour

// SumQuery asks what runs did that ended between two instants. Empty fields do not
// narrow it.
type SumQuery struct {
	Source    string
	Operation ingest.Operation
	From, To  time.Time
	Step      time.Duration // one sum for each step of time; 0: one for the whole range
}

// Slot returns the length of slots that answer the query best at an instant: short ones
// while they are there and not too many, else hours.
func (q SumQuery) Slot(now time.Time) SlotLength {
	precise := q.Step == 0 || q.Step < time.Duration(HourSlot)
	if precise && q.To.Sub(q.From) <= mostShort && now.Sub(q.From) < ShortSlotKept-time.Hour {
		return ShortSlot
	}
	return HourSlot
}

// RunSums are runs that ended, by how they did.
type RunSums struct {
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	Partial   int64 `json:"partial"`
	Cancelled int64 `json:"cancelled"` // put back: told to wait, paused, interrupted
}

// Total returns all of them.
func (r RunSums) Total() int64 { return r.Succeeded + r.Failed + r.Partial + r.Cancelled }

// ItemSums are items by what became of them, as in ingest.BatchStats.
type ItemSums struct {
	Seen        int64 `json:"seen"`
	Inserted    int64 `json:"inserted"`
	Updated     int64 `json:"updated"`
	Unchanged   int64 `json:"unchanged"`
	Gone        int64 `json:"gone"`
	Stale       int64 `json:"stale"`
	Duplicate   int64 `json:"duplicate"`
	Outside     int64 `json:"outside"`
	Excluded    int64 `json:"excluded"`
	Quarantined int64 `json:"quarantined"`
	Late        int64 `json:"late"`
}

// LeftOut returns the items that a rule of the source left out: those that nothing else became of
// (I4). They have no column of their own.
func (s ItemSums) LeftOut() int64 {
	return s.Seen - s.Inserted - s.Updated - s.Unchanged - s.Gone - s.Stale - s.Duplicate - s.Outside - s.Quarantined
}

// ErrorSums are errors by level: tries and runs that failed, and rejects that are news.
type ErrorSums struct {
	L1 int64 `json:"L1"`
	L2 int64 `json:"L2"`
	L3 int64 `json:"L3"`
	L4 int64 `json:"L4"`
}

// Of returns the errors of a level.
func (e ErrorSums) Of(l fault.Level) int64 {
	return map[fault.Level]int64{fault.Transient: e.L1, fault.Request: e.L2, fault.Data: e.L3, fault.Fatal: e.L4}[l]
}

// WorkSum is what the runs of a partition did that ended in a range of time.
type WorkSum struct {
	Source    string           `json:"source"`
	Endpoint  string           `json:"endpoint"`
	Operation ingest.Operation `json:"operation"`
	// From and To are the slots that were added up: the range that was asked for,
	// widened to whole slots.
	From          time.Time `json:"from"`
	To            time.Time `json:"to"`
	Runs          RunSums   `json:"runs"`
	Batches       int64     `json:"batches"`       // stored
	FailedBatches int64     `json:"failedBatches"` // pages that could not be had, and ended their run
	Items         ItemSums  `json:"items"`
	Requests      int64     `json:"requests"`
	Retries       int64     `json:"retries"`
	Throttled     int64     `json:"throttled"` // answers 429
	BytesIn       int64     `json:"bytesIn"`
	Errors        ErrorSums `json:"errors"`
	// Answers are the answers that Took adds up; Waited is the time at the rate gate.
	Answers int64         `json:"answers"`
	Took    time.Duration `json:"-"`
	Slowest time.Duration `json:"-"`
	Waited  time.Duration `json:"-"`
	// Latencies are the answers by how long they took. Older sums do not have them.
	Latencies ingest.Latencies `json:"-"`
}

// Asked returns how many pages were asked for: those that were stored and those that
// could not be had.
func (s WorkSum) Asked() int64 { return s.Batches + s.FailedBatches }

// ErrorShare returns errors of L1 and L2 over batches (§14.8). A page that was had at
// the third try counts two errors.
func (s WorkSum) ErrorShare() float64 { return ratio(s.Errors.L1+s.Errors.L2, s.Asked()) }

// ThrottledShare returns answers 429 over batches (§14.8).
func (s WorkSum) ThrottledShare() float64 { return ratio(s.Throttled, s.Asked()) }

// FailureShare returns the share of runs that failed among those that came to an end of
// their own. One that was put back did neither.
func (s WorkSum) FailureShare() float64 {
	return ratio(s.Runs.Failed, s.Runs.Succeeded+s.Runs.Failed+s.Runs.Partial)
}

// Percentile returns within which time so many of a hundred answers came; 0 where that is
// not known.
func (s WorkSum) Percentile(percent float64) time.Duration {
	took, _ := s.Latencies.Percentile(percent, s.Slowest)
	return took
}

// MeanLatency returns how long the upstream took for an answer on average.
func (s WorkSum) MeanLatency() time.Duration {
	if s.Answers == 0 {
		return 0
	}
	return s.Took / time.Duration(s.Answers)
}

// ratio returns n over of. Where there is nothing to divide by, anything at all counts
// as everything: a partition that only fails has no batches.
func ratio(n, of int64) float64 {
	switch {
	case n == 0:
		return 0
	case of == 0:
		return 1
	}
	return float64(n) / float64(of)
}

// ErrorQuery asks which errors runs met that ended between two instants. Empty fields
// do not narrow it.
type ErrorQuery struct {
	Source    string
	Operation ingest.Operation
	Level     fault.Level
	From, To  time.Time
}

// ErrorSum is how often the runs of a partition met an error, by level and code.
type ErrorSum struct {
	Level     fault.Level      `json:"level"`
	Code      string           `json:"code"` // of a fault, or the reason of rejects
	Source    string           `json:"source"`
	Endpoint  string           `json:"endpoint"`
	Operation ingest.Operation `json:"operation"`
	Times     int64            `json:"times"` // in the hours that lie in the range, even in part
	LastAt    time.Time        `json:"lastAt"`
	RunID     int64            `json:"runId"`   // that met it last
	BatchNo   int              `json:"batchNo"` // of that run; 0: no batch was asked for
}
