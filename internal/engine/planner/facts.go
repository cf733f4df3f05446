package planner

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// planFacts are what was expected of a plan when it was made (§14.3). They stand among
// its remarks, so that what came of it can be compared.
type planFacts struct {
	Estimated *slicing.Figure   `json:"totalEstimated,omitempty"` // items; without it nobody knew
	Average   duration.Duration `json:"averageWindow,omitzero"`   // of its slices of time
	Budget    *planBudget       `json:"budget,omitempty"`
}

// planBudget is what the plan may use.
type planBudget struct {
	Requests    float64 `json:"requests"`    // it is expected to need
	MaxRequests int     `json:"maxRequests"` // of one slice
	PerSecond   float64 `json:"qps"`
}

// facts returns what is expected of a plan with work to do.
func (d *drawing) facts(c *spec.Compiled) (out planFacts) {
	if d.Empty || len(d.Slices) == 0 {
		return out
	}
	if d.Forecast.Items.Source != "" {
		out.Estimated = &d.Forecast.Items
	}
	out.Average = duration.Duration(averageWindow(d.Slices))
	s := c.Snapshot
	out.Budget = &planBudget{Requests: d.Forecast.Requests.Value, MaxRequests: s.Slicing.MaxRequests, PerSecond: s.Rate.PerSecond}
	return out
}

// averageWindow returns how long the windows of slices are on average, to the second; zero
// for slices of ids.
func averageWindow(all []DraftSlice) time.Duration {
	var sum time.Duration
	for _, s := range all {
		sum += s.To.Sub(s.From)
	}
	return (sum / time.Duration(len(all))).Truncate(time.Second)
}
