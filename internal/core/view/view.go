// Package view holds the read models: what the command line, the API and the
// dashboard show of the ledger.
//
// They are plain values with JSON names. Nothing in here may be written back.
package view

import (
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Filter narrows a list. Zero fields do not filter.
type Filter struct {
	Source string
	Status string
	PlanID int64
	TaskID int64
	RunID  int64
	Before int64 // ids below this one: the next page of a list
	Limit  int
}

// Plan is a plan as people see it.
type Plan struct {
	ID              int64           `json:"id"`
	Source          string          `json:"source"`
	Endpoint        string          `json:"endpoint"`
	Operation       string          `json:"operation"`
	Status          string          `json:"status"`
	Window          *window.Window  `json:"window,omitempty"`
	AsOf            time.Time       `json:"asOf"`
	SpecFingerprint string          `json:"specFingerprint"`
	Remarks         json.RawMessage `json:"remarks,omitempty"`
	CreatedAt       time.Time       `json:"createdAt"`
}

// Progress is how far a plan has come.
type Progress struct {
	PlanID int64          `json:"planId"`
	Status string         `json:"status"`
	Slices map[string]int `json:"slices"` // by status
	Total  int            `json:"total"`
	Done   int            `json:"done"` // slices that ended, well or badly
	// Replaced are those of the PARTIAL ones whose rest belongs to smaller slices.
	Replaced int             `json:"replaced,omitempty"`
	Stats    ingest.RunStats `json:"stats"`
}

// Since returns what became of a plan after it stood as before: slices that had ended by
// then, and what runs had done, are left out. Slices that have not ended stay.
func (p Progress) Since(before Progress) Progress {
	out := p
	out.Slices = map[string]int{}
	for status, n := range p.Slices {
		if s := ingest.SliceStatus(status); s != ingest.SlicePending && s != ingest.SliceReady {
			n = max(n-before.Slices[status], 0)
		}
		if n > 0 {
			out.Slices[status] = n
		}
	}
	out.Replaced = max(p.Replaced-before.Replaced, 0)
	out.Stats = p.Stats.Since(before.Stats)
	return out
}

// Task is a queue entry.
type Task struct {
	ID          int64         `json:"id"`
	PlanID      int64         `json:"planId"`
	SliceID     int64         `json:"sliceId"`
	Source      string        `json:"source"`
	Endpoint    string        `json:"endpoint"`
	Operation   string        `json:"operation"`
	Status      string        `json:"status"`
	Window      window.Window `json:"window"`
	Priority    int           `json:"priority"`
	ScheduledAt time.Time     `json:"scheduledAt"`
	Attempts    int           `json:"attempts"`
	Stopping    bool          `json:"stopping,omitempty"` // an operator wants it to end
	Waits       *Waiting      `json:"waits,omitempty"`    // on the rate gate, or on an upstream in trouble
	LeaseOwner  string        `json:"leaseOwner,omitempty"`
	LeaseEpoch  int64         `json:"leaseEpoch"`
	LeasedUntil time.Time     `json:"leasedUntil,omitzero"`
	ErrorCode   string        `json:"errorCode,omitempty"`
	Error       string        `json:"error,omitempty"`
	StartedAt   time.Time     `json:"startedAt,omitzero"`
	FinishedAt  time.Time     `json:"finishedAt,omitzero"`
	Spec        string        `json:"specFingerprint"`
	Key         string        `json:"idempotentKey"`
}

// Run is one attempt.
type Run struct {
	ID         int64           `json:"id"`
	TaskID     int64           `json:"taskId"`
	PlanID     int64           `json:"planId"`
	Attempt    int             `json:"attempt"`
	Epoch      int64           `json:"leaseEpoch"`
	Source     string          `json:"source"`
	Operation  string          `json:"operation"`
	Status     string          `json:"status"`
	Window     window.Window   `json:"window"`
	Stats      ingest.RunStats `json:"stats"`
	Worker     string          `json:"worker,omitempty"`
	ErrorCode  string          `json:"errorCode,omitempty"`
	Error      string          `json:"error,omitempty"`
	StartedAt  time.Time       `json:"startedAt,omitzero"`
	FinishedAt time.Time       `json:"finishedAt,omitzero"`
	Remarks    []health.Remark `json:"remarks,omitempty"` // what was done about conditions
}

// Batch is one page.
type Batch struct {
	ID          int64             `json:"id"`
	RunID       int64             `json:"runId"`
	TaskID      int64             `json:"taskId"`
	SliceID     int64             `json:"sliceId"`
	PlanID      int64             `json:"planId"`
	No          int               `json:"batchNo"`
	Pass        int               `json:"pass"`
	Page        int               `json:"pageNo"`
	Source      string            `json:"source"`
	Operation   string            `json:"operation"`
	Status      string            `json:"status"`
	BeforeToken string            `json:"beforeToken,omitempty"`
	AfterToken  string            `json:"afterToken,omitempty"`
	Stats       ingest.BatchStats `json:"stats"`
	Error       string            `json:"error,omitempty"`
	CommittedAt time.Time         `json:"committedAt,omitzero"`
	Request     json.RawMessage   `json:"request,omitempty"`
	Response    json.RawMessage   `json:"response,omitempty"`
	Raw         string            `json:"raw,omitempty"` // reference of the kept body
}

// Cursor is a watermark.
type Cursor struct {
	ID           int64     `json:"id"`
	Source       string    `json:"source"`
	Endpoint     string    `json:"endpoint"`
	Operation    string    `json:"operation"`
	Key          string    `json:"cursorKey"`
	Scope        string    `json:"namespaceScope"`
	NamespaceKey string    `json:"namespaceKey"`
	Type         string    `json:"type"`
	Value        string    `json:"value"`
	ObservedMax  string    `json:"observedMax,omitempty"`
	Instant      time.Time `json:"instant,omitzero"`
	Origin       time.Time `json:"origin,omitzero"`
	LookbackSec  float64   `json:"lookbackSeconds"`
	// How far the largest value seen lies ahead of the watermark, by what the cursor
	// follows (C§6). That is no lag: a lag is the time from the watermark to now.
	AheadSec float64 `json:"seenAheadSeconds,omitempty"`
	AheadIDs int64   `json:"seenAheadIds,omitempty"`
	// Left are ranges that were owed when the watermark was last set by hand:
	// the book began anew without them, and nothing else would show them.
	Left []window.Window `json:"left,omitempty"`
	// OwnSince is when the source first asked this question by itself; zero: only
	// runs with other settings did, or it was before that was noted.
	OwnSince  time.Time `json:"ownSince,omitzero"`
	UpdatedAt time.Time `json:"updatedAt"`
	Version   int64     `json:"version"`
	ingest.Lineage
}

// Line returns what the cursor follows.
func (c Cursor) Line() ingest.CursorType { return ingest.CursorType(c.Type) }

// Ahead returns how far the largest value seen lies ahead of the watermark in time.
func (c Cursor) Ahead() time.Duration { return time.Duration(c.AheadSec * float64(time.Second)) }

// Lookback returns the duration below the cursor that harvests read again.
func (c Cursor) Lookback() time.Duration { return time.Duration(c.LookbackSec * float64(time.Second)) }

// CursorEvent is one entry of the ledger.
type CursorEvent struct {
	ID       int64           `json:"id"`
	Kind     coverage.Kind   `json:"kind"`
	Prev     string          `json:"prev,omitempty"`
	New      string          `json:"new,omitempty"`
	Moved    bool            `json:"moved"`
	Windows  []window.Window `json:"windows"`
	AsOf     time.Time       `json:"asOf,omitzero"`
	At       time.Time       `json:"at"`
	Lookback time.Duration   `json:"-"` // lookbackSeconds in JSON
	Observed string          `json:"observedMax,omitempty"`
	ingest.Lineage
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Coverage is one cursor's book, and what became of its time.
type Coverage struct {
	Cursor      Cursor               `json:"cursor"`
	Window      window.Window        `json:"window"`
	Segments    []coverage.Segment   `json:"segments"`
	Stretches   []coverage.FateRange `json:"stretches"` // with what backfills read that asked the same
	Cells       []CoverageCell       `json:"cells"`
	Thin        []coverage.Counted   `json:"thin,omitempty"` // days with far fewer items than their neighbours
	Quarantined []Marked             `json:"quarantined,omitempty"`
	Capped      []window.Window      `json:"capped,omitempty"`
}

// CoverageCell is one cell of a strip.
type CoverageCell struct {
	Window    window.Window `json:"window"`
	State     CellState     `json:"state"`
	Sign      string        `json:"sign"` // as a strip draws the state
	Done      bool          `json:"done"`
	DoneShare float64       `json:"doneShare"`
}

// Verdict is the result of refolding a cursor's ledger (C§4).
type Verdict struct {
	Cursor   Cursor    `json:"cursor"`
	Events   int       `json:"events"`
	Refolded time.Time `json:"refoldedTo,omitzero"`
	Problems []string  `json:"problems,omitempty"`
}

// Source is a source as applied or bundled.
type Source struct {
	Code      string    `json:"source"`
	Name      string    `json:"name"`
	Origin    string    `json:"origin"` // bundled or applied
	Endpoints []string  `json:"endpoints"`
	From      time.Time `json:"effectiveFrom,omitzero"`
}

// Counts are the totals of a dataset.
type Counts struct {
	Records     int64 `json:"records"`
	Gone        int64 `json:"gone"`
	Outbox      int64 `json:"outbox"`
	Quarantined int64 `json:"quarantined"`
}

// Record is a stored record with its current body.
type Record struct {
	ID        string    `json:"id"`
	Version   int       `json:"version"`
	State     string    `json:"state"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	FetchAt   time.Time `json:"fetchedAt"`
	// CheckedAt is when an UPDATE last asked the upstream about it.
	CheckedAt time.Time `json:"checkedAt,omitzero"`
	// MissingSince is when the upstream was first asked for it and did not have it.
	MissingSince time.Time       `json:"missingSince,omitzero"`
	MergedInto   string          `json:"mergedInto,omitempty"` // the record that took its place
	Fields       json.RawMessage `json:"fields,omitempty"`
	Payload      json.RawMessage `json:"payload,omitempty"`
	Key          []byte          `json:"-"` // position of the record in a scan
}

// Rejected is an item in quarantine.
type Rejected struct {
	ID         int64     `json:"id"`
	ProviderID string    `json:"recordId,omitempty"`
	Reason     string    `json:"reason"`
	Path       string    `json:"path,omitempty"`
	Detail     string    `json:"detail,omitempty"`
	RawHash    string    `json:"rawHash"`
	Raw        []byte    `json:"raw,omitempty"`
	CreatedAt  time.Time `json:"createdAt"`
	BatchID    int64     `json:"batchId"`
}
