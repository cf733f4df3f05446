package planner

import (
	"encoding/json"

	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// measuresLate reports whether late items can be told by their stamps: the stamp has to
// be the date that the harvest follows. A source says so by reading both from one place.
func measuresLate(s spec.Snapshot) bool {
	r := s.Response
	return traitsOf(s.Operation).followsPresent && !r.Filtered.IsZero() && r.Filtered.String() == r.UpdatedAt.String()
}

// sliceParams returns the settings a plan is cut by, its lag among them (S appendix C).
func (d *drawing) sliceParams(c *spec.Compiled) ([]byte, error) {
	var lag *int64
	if d.lag != nil {
		seconds := int64(d.lag.SafetyLag.Seconds())
		lag = &seconds
	}
	return json.Marshal(struct {
		slicing.Config
		SafetyLagSec *int64        `json:"safetyLagSec,omitempty"`
		Refresh      *refresh.Spec `json:"refresh,omitempty"`
		storedParents
	}{c.Snapshot.Slicing, lag, d.refresh, storedParents{d.runs, d.opens, d.picks}})
}
