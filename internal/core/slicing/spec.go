package slicing

import (
	"cmp"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Spec is the stored specification of a slice, in the shape of S§4 with the
// paging and telemetry parts of §8.2.2. TIME has a window, ID_RANGE a range; one of
// turns has the window of its turns as well.
type Spec struct {
	Strategy Strategy   `json:"strategy"`
	Window   WindowSpec `json:"window,omitzero"`
	Range    *Range     `json:"range,omitempty"`
	// Sector is which part of the list is asked for: a value for each entry of partitions.
	Sector map[string]string `json:"partition,omitempty"`
	// Few is how many sectors the plan reads the window for, where the others have been read before; zero: all of them.
	Few int `json:"partitions,omitempty"`
	// Opens is there where the slice also reads parents that are new from their beginning; see Opening.
	Opens *Opening `json:"opens,omitempty"`
	// Picks is there where the slice asks for some of its parents only; see Picked.
	Picks *Picked `json:"picks,omitempty"`
	// Refresh is which of the records in the range an UPDATE looks at.
	Refresh *refresh.Spec `json:"refresh,omitempty"`
	// File is what the slice reads, where records lie in files; nil: it reads the listing.
	File       *files.Owed `json:"file,omitempty"`
	Pagination Pagination  `json:"pagination"`
	Budget     Budget      `json:"budget"`
	Hints      Hints       `json:"hints"`
	Phase      Phase       `json:"phase"`
	Telemetry  Telemetry   `json:"telemetry"`
}

// WindowSpec is the owned window. Asked is what the upstream is asked for where
// that is more: events and coverage never see it (D§5.7).
type WindowSpec struct {
	From      time.Time      `json:"from"`
	To        time.Time      `json:"to"`
	Boundary  Boundary       `json:"boundary"`
	Timezone  string         `json:"timezone"`
	Precision string         `json:"precision"`
	Asked     *window.Window `json:"asked,omitempty"`
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
	MaxRequests    int          `json:"maxRequests"`
	MaxRecords     int          `json:"maxRecords"`
	MaxDurationSec int          `json:"maxDurationSec"`
	Priority       string       `json:"priority"`
	Reservation    *Reservation `json:"reservation,omitempty"`
}

// Reservation is what a slice is expected to need of its source's quota
// (§4.10.5), by the estimate the slice was cut by. Its task sets that much aside
// until it has ended.
type Reservation struct {
	Requests int64 `json:"requests"`
}

// Hints are for the executor's information.
type Hints struct {
	ExpectedPageSize int    `json:"expectedPageSize"`
	Order            string `json:"order,omitempty"` // as the source declares it: a field, or field:asc; none if it is not known
	SafetyLagSec     int    `json:"safetyLagSec"`
}

// Phase tells whether details are fetched in a second step.
type Phase struct {
	TwoPhase bool `json:"twoPhase"`
}

// Telemetry is what the planner expected. Capped says that the upstream counted
// more items than it serves of one query and that no finer cut exists: the
// slice has to fail as such, never to end early in silence (D§5.12).
type Telemetry struct {
	Comment  string    `json:"comment,omitempty"`
	Estimate *Estimate `json:"estimate,omitempty"`
	Capped   bool      `json:"capped,omitempty"`
	Part     bool      `json:"part,omitempty"` // of a slice that was cut again
	Cut      *CutOut   `json:"cut,omitempty"`
}

// CutOut is why a slice is a part of one that could not be read: a page of that failed while
// other windows were answered.
type CutOut struct {
	Of     window.Window `json:"of"`               // what was cut first; other windows lie outside of it
	Parent window.Window `json:"parent"`           // what was cut last
	Silent int           `json:"silent,omitempty"` // cuts in a row of which no part was answered
}

// Within returns the cut of the parts of a window that may be part of one itself. Silent
// says that no part of the window's own parent was answered.
func (c *CutOut) Within(parent window.Window, silent bool) *CutOut {
	out := &CutOut{Of: parent, Parent: parent}
	if c != nil {
		out.Of = c.Of
		if silent {
			out.Silent = c.Silent + 1
		}
	}
	return out
}

// Hopeless reports that cutting further would not find the page that fails: no part of
// the last two windows was answered, so it is a range of time that is not served.
func (c *CutOut) Hopeless() bool { return c != nil && c.Silent >= silentCuts }

const silentCuts = 1

// Beside returns what of the window that was cut last lies beside one of its parts.
func (c *CutOut) Beside(part window.Window) []window.Window {
	return window.Subtract(c.Parent, []window.Window{part})
}

// WindowBefore returns a window of the same length that lies before an asked one, to learn
// whether the upstream answers anything. It lies before all that was cut: what lies right
// before a part may be as broken.
func (c *CutOut) WindowBefore(asked window.Window) window.Window {
	from := asked.From
	if c != nil {
		from = c.Of.From
	}
	return window.Window{From: from.Add(-asked.Duration()), To: from}
}

// Owned returns the window of the slice; the zero window for ID_RANGE.
func (s Spec) Owned() window.Window { return window.Window{From: s.Window.From, To: s.Window.To} }

// Asked returns what the upstream is asked for.
func (s Spec) Asked() window.Window {
	if s.Window.Asked != nil {
		return *s.Window.Asked
	}
	return s.Owned()
}

// initialPaging is one map for all slices of a request: nobody writes to it, and a
// hundred thousand of them would be most of a plan's memory (I14).
func (r Request) initialPaging() map[string]string { return map[string]string{"token": r.Initial} }

func (r Request) baseSpec(estimate Estimate, initial map[string]string) Spec {
	s := Spec{
		Strategy:   r.Config.Strategy,
		Pagination: Pagination{Type: r.Paging, Initial: initial},
		Budget: Budget{
			MaxRequests: r.Config.MaxRequests, MaxRecords: r.Config.MaxRecords,
			MaxDurationSec: r.Config.MaxDurationSec, Priority: cmp.Or(r.Priority, "HIGH"),
		},
		Hints: Hints{ExpectedPageSize: r.PageSize, Order: r.Order, SafetyLagSec: int(r.SafetyLag.Seconds())},
		Phase: Phase{TwoPhase: len(r.Steps) > 1},
	}
	if !estimate.isUnknown() {
		s.Telemetry.Estimate = &estimate
		if len(r.Steps) > 0 {
			s.Budget.Reservation = &Reservation{requestsFor(r.Steps, estimate.Count)}
		}
	}
	return s
}

func (a *adapter) specOf(p piece, initial map[string]string) Spec {
	s := a.baseSpec(p.belief.Estimate, initial)
	s.Window = WindowSpec{
		From: p.owned.From, To: p.owned.To, Boundary: Boundary{"CLOSED", "OPEN"}, Timezone: "UTC", Precision: a.Precision,
	}
	if asked := a.askedWindow(p.owned); asked != p.owned {
		s.Window.Asked = &asked
	}
	s.Telemetry.Capped = p.capped
	return s
}

// Validate checks a slice by the list of S§12.
func (s Spec) Validate() error {
	if s.Budget.MaxRequests <= 0 || s.Budget.MaxRecords <= 0 || s.Budget.MaxDurationSec <= 0 {
		return fmt.Errorf("budget must be positive")
	}
	switch s.Strategy {
	case TIME:
		if s.Range != nil {
			return fmt.Errorf("strategy TIME has a range")
		}
		return s.validateWindow()
	case IDRange:
		return s.validateRange()
	}
	return fmt.Errorf("strategy %q is not supported", s.Strategy)
}

func (s Spec) validateRange() error {
	switch {
	case s.Range == nil:
		return fmt.Errorf("strategy ID_RANGE needs a range")
	case s.Range.Kind == Hash && s.Owned().Empty():
		return fmt.Errorf("a range of hashes needs the window of their turns")
	case s.Range.Kind != Hash && s.Window != (WindowSpec{}):
		return fmt.Errorf("strategy ID_RANGE has a window")
	}
	if s.Refresh != nil {
		if err := s.Refresh.Validate(); err != nil {
			return err
		}
	}
	return s.Range.Validate()
}

func (s Spec) validateWindow() error {
	owned, asked := s.Owned(), s.Asked()
	switch {
	case owned.Empty():
		return fmt.Errorf("window is empty or reversed")
	case s.Window.Boundary != Boundary{"CLOSED", "OPEN"}:
		return fmt.Errorf("boundary must be CLOSED below and OPEN above")
	case s.Window.Timezone != "UTC":
		return fmt.Errorf("timezone must be UTC")
	case asked.Intersect(owned) != owned:
		return fmt.Errorf("asked window %v does not hold the owned window", asked)
	case s.Pagination.Type == "":
		return fmt.Errorf("pagination.type is missing")
	}
	switch query.Precision(s.Window.Precision) {
	case query.Second, query.Minute, query.Hour, query.Day, query.Month, query.Year:
	default:
		return fmt.Errorf("precision %q must be SECOND, MINUTE, HOUR, DAY, MONTH or YEAR", s.Window.Precision)
	}
	if err := owned.Validate(); err != nil {
		return err
	}
	return asked.Validate()
}
