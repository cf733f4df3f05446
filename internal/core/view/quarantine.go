package view

import (
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// Reject is an item in quarantine with what became of it.
type Reject struct {
	ID         int64     `json:"id"`
	Source     string    `json:"source"`
	Endpoint   string    `json:"endpoint"`
	Status     string    `json:"status"`
	ProviderID string    `json:"recordId,omitempty"`
	Reason     string    `json:"reason"`
	Path       string    `json:"path,omitempty"`
	Detail     string    `json:"detail,omitempty"`
	Index      int       `json:"index"` // in its page
	FirstSeen  time.Time `json:"firstSeenAt"`
	LastSeen   time.Time `json:"lastSeenAt"`
	Seen       int       `json:"seen"`     // how often a page brought it
	Attempts   int       `json:"attempts"` // how often it was read again
	Note       string    `json:"note,omitempty"`
	FetchAt    time.Time `json:"fetchedAt,omitzero"`
	PlanID     int64     `json:"planId"`
	SliceID    int64     `json:"sliceId"`
	TaskID     int64     `json:"taskId"`
	RunID      int64     `json:"runId"`
	BatchID    int64     `json:"batchId"`
	// JudgedBy is the batch that read the item again, or stored its record.
	JudgedBy int64  `json:"judgedByBatchId,omitempty"`
	RawHash  string `json:"rawHash"`
	RawBytes []byte `json:"-"` // the item as the upstream sent it, if it was asked for
	// Raw is the item where it is JSON, else RawText is its text.
	Raw     json.RawMessage `json:"raw,omitempty"`
	RawText string          `json:"rawText,omitempty"`
}

// WithItem fills what is shown of the item's bytes.
func (r Reject) WithItem() Reject {
	if json.Valid(r.RawBytes) {
		r.Raw = json.RawMessage(r.RawBytes)
	} else {
		r.RawText = string(r.RawBytes)
	}
	return r
}

// RejectFilter narrows a list of items in quarantine, oldest first.
type RejectFilter struct {
	Source, Endpoint string
	Reason, Path     string
	Status           string
	BatchID          int64
	After            int64
	Limit            int
	WithItem         bool
}

// RejectGroup are items that were rejected for the same reason at the same place.
type RejectGroup struct {
	Source    string    `json:"source"`
	Endpoint  string    `json:"endpoint"`
	Reason    string    `json:"reason"`
	Path      string    `json:"path,omitempty"`
	Status    string    `json:"status"`
	Count     int64     `json:"count"`
	FirstSeen time.Time `json:"firstSeenAt"`
	LastSeen  time.Time `json:"lastSeenAt"`
	ExampleID int64     `json:"exampleId"` // the first of them
	Detail    string    `json:"detail,omitempty"`
	Example   string    `json:"example,omitempty"` // of the item, masked
}

// RejectCount is how many items of a dataset are in quarantine, and how many groups they make.
type RejectCount struct {
	Items    int64
	Groups   int
	LastSeen time.Time // when one of them came last, for the first time or again
}

// Requeued is what became of rejected items that were put back, or would, and the plan that
// reads them again.
type Requeued struct {
	ingest.RejectsDone
	PlanID int64 `json:"planId,omitempty"` // 0: it was a rehearsal, or nothing was put back
}
