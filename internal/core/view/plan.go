package view

import (
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// PlanFilter narrows a list of plans. Zero fields do not filter.
type PlanFilter struct {
	Filter
	Operation string
}

// PlanRow is a plan in a list, with its slices by status.
type PlanRow struct {
	Plan
	Slices map[string]int `json:"slices"`
}

// PlanDetail is a plan with where it came from and how far it has come. What led
// to its window is in the remarks.
type PlanDetail struct {
	Plan
	Key           string          `json:"planKey"`
	Strategy      string          `json:"sliceStrategy"`
	SliceParams   json.RawMessage `json:"sliceParams,omitempty"`
	ExprProtoHash string          `json:"exprProtoHash"`
	ExprProto     json.RawMessage `json:"exprProto,omitempty"`
	CursorID      int64           `json:"cursorId"`
	UpdatedAt     time.Time       `json:"updatedAt"`
	Trigger       Trigger         `json:"trigger"`
	Slices        map[string]int  `json:"slices"` // by status
	Stats         ingest.RunStats `json:"stats"`  // of all runs
	// Limit is how many requests may be spent on it, with the other plans of its trigger.
	Limit *ingest.RequestLimit `json:"limit,omitempty"`
}

// Trigger is what a plan was asked for by.
type Trigger struct {
	ID        int64           `json:"id"`
	Type      string          `json:"type"`
	Scheduler string          `json:"scheduler"`
	JobID     string          `json:"jobId,omitempty"` // of an outside scheduler: its job, and the run of that job
	LogID     string          `json:"logId,omitempty"`
	At        time.Time       `json:"at"`
	Params    json.RawMessage `json:"params,omitempty"`
	Remarks   json.RawMessage `json:"remarks,omitempty"`
}

// Actor returns the operator or the token that asked; empty if it was no act of a person.
func (t Trigger) Actor() string {
	var by struct{ Actor string }
	_ = json.Unmarshal(t.Params, &by) // what is of another shape names nobody
	return by.Actor
}

// Reason returns why an operator asked, with the operator's name; empty if it was
// no act of a person.
func (t Trigger) Reason() string {
	var by struct{ Actor, Reason string }
	if json.Unmarshal(t.Params, &by) != nil || by.Actor == "" {
		return ""
	}
	if by.Reason == "" {
		by.Reason = "none given"
	}
	return by.Reason + " (" + by.Actor + ")"
}

// PlanCancel is what cancelling a plan comes to. Every slice is in one of the
// three numbers, before and after.
type PlanCancel struct {
	PlanID    int64  `json:"planId"`
	Status    string `json:"status"`
	Cancelled int    `json:"cancelled"` // slices that no process works on
	Stopping  int    `json:"stopping"`  // slices whose worker stops after the page it reads
	Ended     int    `json:"ended"`     // slices that had ended otherwise
}

// Slice is one part of a plan. A slice that owns no range of time has no window.
type Slice struct {
	ID         int64          `json:"id"`
	PlanID     int64          `json:"planId"`
	ParentID   int64          `json:"parentId,omitempty"` // the slice it was cut from
	No         int            `json:"sliceNo"`
	Source     string         `json:"source"`
	Status     string         `json:"status"`
	Window     *window.Window `json:"window,omitempty"`
	Partition  string         `json:"partition,omitempty"` // part of the list that it asks for, such as set=cs
	Signature  string         `json:"signature"`
	ExprHash   string         `json:"exprHash"`
	TaskID     int64          `json:"taskId,omitempty"`
	TaskStatus string         `json:"taskStatus,omitempty"`
	CreatedAt  time.Time      `json:"createdAt"`
	UpdatedAt  time.Time      `json:"updatedAt"`
}

// SliceDetail is a slice with all that is stored about it.
type SliceDetail struct {
	Slice
	Spec    json.RawMessage `json:"spec"`
	Expr    json.RawMessage `json:"expr,omitempty"`
	Remarks json.RawMessage `json:"remarks,omitempty"`
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
