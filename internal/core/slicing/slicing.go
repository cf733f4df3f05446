// Package slicing cuts a plan's window into slices that can be executed,
// repeated and skipped on their own (S). Strategies are looked up by code in
// one explicit list.
//
// It is pure: the same inputs give the same slices, byte for byte. It must
// never leave a gap or an overlap between two slices (I1).
package slicing

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Strategy is a way of cutting.
type Strategy string

// Strategies of S§0. Those without a function in the list are known and refused.
const (
	TIME           Strategy = "TIME"
	IDRange        Strategy = "ID_RANGE"
	CursorLandmark Strategy = "CURSOR_LANDMARK"
	VolumeBudget   Strategy = "VOLUME_BUDGET"
	Hybrid         Strategy = "HYBRID"
)

// Config is the `slicing` section of an endpoint.
type Config struct {
	Strategy       Strategy          `json:"strategy,omitempty" enum:"TIME,ID_RANGE,CURSOR_LANDMARK,VOLUME_BUDGET,HYBRID" doc:"how a window is cut (default TIME)"`
	Step           duration.Duration `json:"step,omitempty" doc:"length of a slice (default P1D)"`
	MaxRequests    int               `json:"maxRequests,omitempty" doc:"requests one slice may use (default 10000)"`
	MaxRecords     int               `json:"maxRecords,omitempty" doc:"items one slice may deliver (default 1000000)"`
	MaxDurationSec int               `json:"maxDurationSec,omitempty" doc:"seconds one run of a slice may take (default 3600)"`
}

// WithDefaults fills what the source left open.
func (c Config) WithDefaults() Config {
	if c.Strategy == "" {
		c.Strategy = TIME
	}
	if c.Step == 0 {
		c.Step = duration.Duration(24 * time.Hour)
	}
	if c.MaxRequests == 0 {
		c.MaxRequests = 10_000
	}
	if c.MaxRecords == 0 {
		c.MaxRecords = 1_000_000
	}
	if c.MaxDurationSec == 0 {
		c.MaxDurationSec = 3600
	}
	return c
}

// Validate names the field that is wrong.
func (c Config) Validate() error {
	if _, err := find(c.Strategy); err != nil {
		return err
	}
	if c.Step < 0 || c.MaxRequests < 0 || c.MaxRecords < 0 || c.MaxDurationSec < 0 {
		return fmt.Errorf("slicing: step, maxRequests, maxRecords and maxDurationSec must not be negative")
	}
	return nil
}

// Request is what a strategy cuts.
type Request struct {
	Owed []window.Window // sorted, disjoint
	// Grid moves a cut down to an instant the upstream can express. Cuts on
	// that grid keep two slices from asking for the same day (S§5.4).
	Grid      func(time.Time) time.Time
	Config    Config
	PageSize  int
	SafetyLag time.Duration
	Order     string
	Precision string
	Paging    string
	Initial   string
}

type cutter func(Request) []window.Window

// The list of strategies: one line each.
func find(s Strategy) (cutter, error) {
	switch s {
	case TIME:
		return cutTime, nil
	case IDRange, CursorLandmark, VolumeBudget, Hybrid:
		return nil, fmt.Errorf("slicing.strategy %s is known but not supported yet: use TIME", s)
	}
	return nil, fmt.Errorf("slicing.strategy %q is unknown: use TIME", s)
}

// Slice is one cut with its stored specification.
type Slice struct {
	Window window.Window
	Spec   Spec
}

// Cut applies the configured strategy and validates every slice (S§12): an
// invalid slice is never stored.
func Cut(r Request) ([]Slice, error) {
	cut, err := find(r.Config.Strategy)
	if err != nil {
		return nil, err
	}
	windows := cut(r)
	out := make([]Slice, len(windows))
	for i, w := range windows {
		out[i] = Slice{w, specOf(r, w)}
		if err := out[i].Spec.Validate(); err != nil {
			return nil, fmt.Errorf("slice %d %v: %w", i, w, err)
		}
	}
	return out, nil
}

// Signature is the identity of a slice: what it asks for, not how much it may
// cost (D§5.5).
func Signature(source, endpoint, operation, exprHash string, w window.Window) string {
	return fingerprint.Key(source, endpoint, operation, exprHash, w.From.Format(time.RFC3339Nano), w.To.Format(time.RFC3339Nano))
}

// TaskKey is the identity of a task: the slice within its plan, so that a later
// plan may fetch the same window again (D§5.5).
func TaskKey(planKey, signature string, params []byte) string {
	return fingerprint.Key(planKey, signature, fingerprint.Bytes(params))
}
