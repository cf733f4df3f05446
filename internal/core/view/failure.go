package view

import "github.com/patra-ingest/patra/internal/core/ingest"

// Failure is one reason for which slices of a plan are not covered.
type Failure struct {
	Status string `json:"status"` // of their tasks
	Code   string `json:"code"`
	Slices int    `json:"slices"`
	Error  string `json:"error"`  // of one of them
	TaskID int64  `json:"taskId"` // that one
}

// Became says what became of the slices.
func (f Failure) Became() string {
	switch ingest.TaskStatus(f.Status) {
	case ingest.TaskFailed:
		return "failed"
	case ingest.TaskCancelled:
		return "cancelled"
	}
	return "tried, to be tried again"
}
