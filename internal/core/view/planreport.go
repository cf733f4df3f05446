package view

import (
	"encoding/json"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// PlanReport is a plan with what led to it and what is wrong with its partition now.
type PlanReport struct {
	PlanDetail
	Text       string       `json:"exprText"` // the expression as people write one
	Noted      *PlanRemarks `json:"-"`        // the remarks, read; nil if they have another shape
	Conditions []Condition  `json:"conditions"`
}

// PlanRemarks are what the planner noted. Members that have no field here are kept in
// Rest as they are stored.
type PlanRemarks struct {
	Explain     []window.Step
	Reason      string // why there was nothing to do
	Skipped     []window.Window
	Waiting     []window.Window
	Degradation []spec.Warning
	Suspended   *ingest.Suspension
	Estimated   *slicing.Figure   `json:"totalEstimated"`
	Average     duration.Duration `json:"averageWindow"`
	Budget      *PlanBudget
	Rest        map[string]json.RawMessage `json:"-"`
}

// PlanBudget is what the planner expected a plan to cost.
type PlanBudget struct {
	Requests    float64
	MaxRequests int     // of a slice
	PerSecond   float64 `json:"qps"`
}

// ReadRemarks reads what the planner noted.
func (p Plan) ReadRemarks() (r PlanRemarks, err error) {
	if len(p.Remarks) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(p.Remarks, &r); err != nil {
		return r, err
	}
	if err := json.Unmarshal(p.Remarks, &r.Rest); err != nil {
		return r, err
	}
	for _, known := range []string{"explain", "reason", "skipped", "waiting", "degradation", "suspended", "totalEstimated", "averageWindow", "budget"} {
		delete(r.Rest, known)
	}
	return r, nil
}
