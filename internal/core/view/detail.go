package view

import (
	"encoding/json"
	"errors"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
)

// TaskDetail is a task with everything that was tried.
type TaskDetail struct {
	Task
	Paused *ingest.Pause   `json:"paused,omitempty"` // why it waits
	Next   string          `json:"next"`             // what happens now
	Stats  ingest.RunStats `json:"stats"`            // of these runs
	Runs   []Run           `json:"runs"`
}

// SliceReport is a slice with its task and everything that was tried.
type SliceReport struct {
	SliceDetail
	Text string `json:"exprText"` // the expression as people write one
	Task *Task  `json:"task"`
	Runs []Run  `json:"runs"`
}

// RunDetail is a run with what comes after it and its newest pages, in the order
// they were read.
type RunDetail struct {
	Run
	Range   *slicing.Range `json:"range,omitempty"` // of an UPDATE by ids
	Class   string         `json:"errorClass,omitempty"`
	Shares  Shares         `json:"shares"`
	Next    string         `json:"next"`
	Batches []Batch        `json:"batches"`

	// Older is the first batch of these, if the run has others before it; else 0.
	Older int64 `json:"-"`
}

// BatchDetail is a batch with where it and its body are.
type BatchDetail struct {
	Batch
	RawStored int64 `json:"rawStored,omitempty"` // the room its body takes; absent where it is not kept
	RawLean   bool  `json:"rawLean,omitempty"`   // its items are not counted: they are stored with their records

	Archive string    `json:"-"` // the file it is in, if it left the database
	Body    BatchBody `json:"-"`
}

// BatchBody is what became of the body of an answer.
type BatchBody struct {
	State BodyState
	Bytes int64 // as it came; 0: not known
	Error error // why it is not known, where it is not
}

// ErrItemsRemoved says that an answer cannot be put together any more.
var ErrItemsRemoved = errors.New("its items are stored as versions of records, and one of these versions was removed")

// BodyState says whether the body of an answer can be read.
type BodyState string

// The states of bodies.
const (
	BodyKept    BodyState = "kept"
	BodyNotKept BodyState = "not kept"
	BodyGone    BodyState = "gone"    // it was kept, and is not there any more
	BodyUnknown BodyState = "unknown" // it could not be looked for
)

// Partition returns the endpoint and the operation that a task belongs to.
func (t Task) Partition() ingest.Partition {
	return ingest.Partition{Dataset: ingest.Dataset{Source: t.Source, Endpoint: t.Endpoint}, Operation: ingest.Operation(t.Operation)}
}

// Range returns the ids that a slice works on, nil if it reads a window of time.
func (s SliceDetail) Range() *slicing.Range {
	var spec struct{ Range *slicing.Range }
	if json.Unmarshal(s.Spec, &spec) != nil {
		return nil
	}
	return spec.Range
}

// AnswerBytes returns how long the body of the answer was as it came; 0 if that is not
// known.
func (b Batch) AnswerBytes() int64 {
	var answer struct{ Bytes int64 }
	_ = json.Unmarshal(b.Response, &answer) // without it the size is not known
	return answer.Bytes
}

// SteadyAnswers gives kept answers the names that are written today: older ones say
// how long they took in milliseconds.
func SteadyAnswers(batches []Batch) {
	for i, b := range batches {
		var kept exchange.ResponseDigest
		if len(b.Response) == 0 || json.Unmarshal(b.Response, &kept) != nil {
			continue
		}
		if text, err := json.Marshal(kept); err == nil {
			batches[i].Response = text
		}
	}
}
