package view

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

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
	Remarks    []health.Remark `json:"remarks,omitempty"`     // what was done about conditions
	Span       string          `json:"traceparent,omitempty"` // of its span; empty: nobody recorded it
}

// Trace returns the id of the trace that the run is part of; empty if nobody recorded it.
func (r Run) Trace() string {
	if parts := strings.Split(r.Span, "-"); len(parts) == 4 {
		return parts[1]
	}
	return ""
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
	Exchange    *ingest.Exchange  `json:"exchange,omitempty"` // nil: it was stored before that was kept
	Error       string            `json:"error,omitempty"`
	CommittedAt time.Time         `json:"committedAt,omitzero"`
	Request     json.RawMessage   `json:"request,omitempty"`
	Response    json.RawMessage   `json:"response,omitempty"`
	Raw         string            `json:"raw,omitempty"` // reference of the kept body
}

// ReadExchange reads how the batch was had from its stored account.
func (b *Batch) ReadExchange(stats []byte) error {
	x, known, err := ingest.DecodeExchange(stats)
	if known {
		b.Exchange = &x
	}
	return err
}
