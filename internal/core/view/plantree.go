package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// SliceTree is a slice of a plan with all that came of it, down to its batches (§14.7).
type SliceTree struct {
	ID        int64          `json:"id"`
	ParentID  int64          `json:"parentId,omitempty"` // the slice it was cut from
	No        int            `json:"sliceNo"`
	Status    string         `json:"status"`
	Window    *window.Window `json:"window,omitempty"`
	Partition string         `json:"partition,omitempty"` // part of the list that it asks for, such as set=cs
	Task      *TaskTree      `json:"task,omitempty"`
}

// TaskTree is the task of a slice with its runs.
type TaskTree struct {
	ID        int64     `json:"id"`
	Status    string    `json:"status"`
	ErrorCode string    `json:"errorCode,omitempty"`
	Runs      []RunTree `json:"runs"`
}

// RunTree is a run with its batches.
type RunTree struct {
	ID         int64       `json:"id"`
	Attempt    int         `json:"attempt"`
	Status     string      `json:"status"`
	ErrorCode  string      `json:"errorCode,omitempty"`
	StartedAt  time.Time   `json:"startedAt,omitzero"`
	FinishedAt time.Time   `json:"finishedAt,omitzero"`
	Batches    []BatchLeaf `json:"batches"`
	// More says that the run has other batches behind these, which are left out to keep
	// the answer short.
	More bool `json:"moreBatches"`
}

// BatchLeaf is what a tree shows of a batch.
type BatchLeaf struct {
	ID        int64  `json:"id"`
	No        int    `json:"batchNo"`
	Page      int    `json:"pageNo"`
	Status    string `json:"status"`
	Seen      int    `json:"seen"`
	Stored    int    `json:"stored"`
	Retries   int    `json:"retries"`
	Throttled int    `json:"throttled"`
	HTTP      int    `json:"httpStatus,omitempty"`
	HasNext   bool   `json:"hasNext"`
	NextHint  string `json:"nextHint,omitempty"`
	Error     string `json:"error,omitempty"`
}

// Leaf returns a batch as a tree shows it.
func (b Batch) Leaf() BatchLeaf {
	leaf := BatchLeaf{ID: b.ID, No: b.No, Page: b.Page, Status: b.Status, Seen: b.Stats.Seen, Stored: b.Stats.Stored(), NextHint: b.AfterToken, Error: b.Error}
	if x := b.Exchange; x != nil {
		leaf.Retries, leaf.Throttled, leaf.HTTP, leaf.HasNext = x.Retries, x.Throttled, x.Status, x.HasNext
	}
	return leaf
}
