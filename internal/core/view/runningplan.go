package view

import "time"

// RunningPlan is a plan that is not at its end, with how far it has come.
type RunningPlan struct {
	PlanRow
	Total   int `json:"total"` // slices
	Done    int `json:"done"`  // slices that ended, well or badly
	Failed  int `json:"failed"`
	Running int `json:"running"` // tasks of its partition that are worked on
	Waiting int `json:"waiting"` // tasks of its partition that wait
	// PerHour is how many runs of its partition ended lately, and ReadyIn how long the rest
	// takes at that pace; zero: nobody knows.
	PerHour float64       `json:"runsPerHour,omitempty"`
	ReadyIn time.Duration `json:"-"`
	// ItemsPerSec is what its partition read lately.
	ItemsPerSec float64   `json:"itemsPerSecond,omitempty"`
	WaitsUntil  time.Time `json:"waitsUntil,omitzero"` // its upstream asked for a pause
}
