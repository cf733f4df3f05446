package view

import "github.com/patra-ingest/patra/internal/core/window"

// StartedOver is a slice whose pages were read anew from the first one on, over all
// runs of its task.
type StartedOver struct {
	TaskID    int64         `json:"taskId"`
	Source    string        `json:"source"`
	Endpoint  string        `json:"endpoint"`
	Operation string        `json:"operation"`
	Status    string        `json:"status"` // of the task
	Window    window.Window `json:"window"`
	Restarts  int           `json:"restarts"`
	Reason    string        `json:"reason,omitempty"` // of the last time
}
