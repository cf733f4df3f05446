// Package slicing cuts a plan's window into slices that can be executed,
// repeated and skipped on their own (S). Strategies are looked up by code in
// one explicit list.
//
// It is pure: the same inputs give the same slices, byte for byte. It must
// never leave a gap or an overlap between two slices (I1).
package slicing

import (
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Strategy is a way of cutting.
type Strategy string

// Strategies of S§0. Those without a function in the list are refused with what is used
// instead (decision 0104).
const (
	TIME           Strategy = "TIME"
	IDRange        Strategy = "ID_RANGE"
	CursorLandmark Strategy = "CURSOR_LANDMARK"
	VolumeBudget   Strategy = "VOLUME_BUDGET"
	Hybrid         Strategy = "HYBRID"
)

type cutter func(Request) (Result, error)

// The list of strategies: one line each.
func findStrategy(s Strategy) (cutter, error) {
	switch s {
	case TIME:
		return cutTime, nil
	case IDRange:
		return cutIDs, nil
	case CursorLandmark:
		return nil, fmt.Errorf("slicing.strategy %s: a window cannot be cut at tokens; use TIME: a slice continues at its last token automatically", s)
	case VolumeBudget:
		return nil, fmt.Errorf("slicing.strategy %s: use TIME with slicing.targetRecords, which cuts slices by how much they hold", s)
	case Hybrid:
		return nil, fmt.Errorf("slicing.strategy %s: use TIME with slicing.targetRecords, and slicing.second where time cannot be cut finer", s)
	}
	return nil, fmt.Errorf("slicing.strategy %q is unknown: use TIME", s)
}

// Slice is one cut with its stored specification.
type Slice struct {
	Window window.Window // owned: what coverage counts; none for ID_RANGE but for turns
	Asked  window.Window // what the upstream is asked for: the owned window and the overlap
	Spec   Spec
}

// Stats tell how the slices came about.
type Stats struct {
	Linear   int // slices before any estimate was looked at
	Bisected int // cuts made because a slice held too much
	Merged   int // slices that vanished into a neighbour
	Capped   int // slices that hold more than the upstream serves and cannot be cut
}

// Result is a complete plan with what is known so far.
type Result struct {
	Slices []Slice
	// Wanted are windows whose estimate could change the cut. The caller finds
	// out and plans again until there are none, or takes the slices as they are.
	Wanted []window.Window
	Stats  Stats
}

// Plan applies the configured strategy and validates every slice (S§12): an
// invalid slice is never stored.
func Plan(r Request) (Result, error) {
	cut, err := findStrategy(r.Config.Strategy)
	if err != nil {
		return Result{}, err
	}
	out, err := cut(r)
	if err != nil {
		return Result{}, err
	}
	for i, s := range out.Slices {
		if err := s.Spec.Validate(); err != nil {
			return Result{}, fmt.Errorf("slice %d %v: %w", i, s.Window, err)
		}
	}
	if r.NewestFirst {
		slices.Reverse(out.Slices)
	}
	return out, nil
}

// Cut does what Plan does for callers that have nothing more to find out.
func Cut(r Request) ([]Slice, error) {
	out, err := Plan(r)
	return out.Slices, err
}

// Signature returns the identity of a slice: what it asks for, not how much it
// may cost (D§5.5).
func Signature(source, endpoint, operation, exprHash string, w window.Window) string {
	return fingerprint.Key(source, endpoint, operation, exprHash, w.From.Format(time.RFC3339Nano), w.To.Format(time.RFC3339Nano))
}

// Signature returns the identity of the slice by its boundaries, be they
// instants or ids. The as-of of a range is none: it tells one plan from another,
// not two slices of a plan.
func (s Spec) Signature(source, endpoint, operation, exprHash string) string {
	if s.Range == nil {
		if name := sector.NameOf(s.Sector); name != "" {
			exprHash += "/" + name
		}
		return Signature(source, endpoint, operation, exprHash, s.Owned())
	}
	g := s.Range
	parts := []string{source, endpoint, operation, exprHash, string(g.Kind), g.Key, g.From, g.To}
	if w := s.Owned(); w != (window.Window{}) { // turns come again in every cycle, with the same hashes
		parts = append(parts, w.From.Format(time.RFC3339Nano), w.To.Format(time.RFC3339Nano))
	}
	return fingerprint.Key(parts...)
}

// TaskKey returns the identity of a task: the slice within its plan, so that a
// later plan may fetch the same window again (D§5.5).
func TaskKey(planKey, signature string, params []byte) string {
	return fingerprint.Key(planKey, signature, fingerprint.Bytes(params))
}
