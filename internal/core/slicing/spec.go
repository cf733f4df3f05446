package slicing

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Spec is the stored specification of a slice, in the shape of S§4 with the
// paging and telemetry parts of §8.2.2.
type Spec struct {
	Strategy   Strategy   `json:"strategy"`
	Window     WindowSpec `json:"window"`
	Pagination Pagination `json:"pagination"`
	Budget     Budget     `json:"budget"`
	Hints      Hints      `json:"hints"`
	Phase      Phase      `json:"phase"`
	Telemetry  Telemetry  `json:"telemetry"`
}

// WindowSpec is the owned window.
type WindowSpec struct {
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Boundary  Boundary  `json:"boundary"`
	Timezone  string    `json:"timezone"`
	Precision string    `json:"precision"`
}

// Boundary is always closed below and open above.
type Boundary struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Pagination is where reading starts.
type Pagination struct {
	Type    string            `json:"type"`
	Initial map[string]string `json:"initial"`
}

// Budget is a hard limit for the executor.
type Budget struct {
	MaxRequests    int    `json:"maxRequests"`
	MaxRecords     int    `json:"maxRecords"`
	MaxDurationSec int    `json:"maxDurationSec"`
	Priority       string `json:"priority"`
}

// Hints are for the executor's information.
type Hints struct {
	ExpectedPageSize int    `json:"expectedPageSize"`
	Order            string `json:"order,omitempty"`
	SafetyLagSec     int    `json:"safetyLagSec"`
}

// Phase tells whether details are fetched in a second step.
type Phase struct {
	TwoPhase bool `json:"twoPhase"`
}

// Telemetry is what the planner expected.
type Telemetry struct {
	Comment string `json:"comment,omitempty"`
}

func specOf(r Request, w window.Window) Spec {
	return Spec{
		Strategy: r.Config.Strategy,
		Window: WindowSpec{
			From: w.From, To: w.To, Boundary: Boundary{"CLOSED", "OPEN"}, Timezone: "UTC", Precision: r.Precision,
		},
		Pagination: Pagination{Type: r.Paging, Initial: map[string]string{"token": r.Initial}},
		Budget: Budget{
			MaxRequests: r.Config.MaxRequests, MaxRecords: r.Config.MaxRecords,
			MaxDurationSec: r.Config.MaxDurationSec, Priority: "HIGH",
		},
		Hints: Hints{ExpectedPageSize: r.PageSize, Order: r.Order, SafetyLagSec: int(r.SafetyLag.Seconds())},
	}
}

// Validate is the checklist of S§12.
func (s Spec) Validate() error {
	switch {
	case s.Strategy != TIME:
		return fmt.Errorf("strategy %q has no window", s.Strategy)
	case !s.Window.From.Before(s.Window.To):
		return fmt.Errorf("window is empty or reversed")
	case s.Window.Boundary != Boundary{"CLOSED", "OPEN"}:
		return fmt.Errorf("boundary must be CLOSED below and OPEN above")
	case s.Window.Timezone != "UTC":
		return fmt.Errorf("timezone must be UTC")
	case s.Pagination.Type == "":
		return fmt.Errorf("pagination.type is missing")
	case s.Budget.MaxRequests <= 0 || s.Budget.MaxRecords <= 0 || s.Budget.MaxDurationSec <= 0:
		return fmt.Errorf("budget must be positive")
	}
	return nil
}
