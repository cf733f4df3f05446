package planner

import (
	"encoding/json"
	"slices"

	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// measuresLate: whether an item came late is told by its stamp, so the stamp has
// to be the date that the harvest follows. A source says so by reading both from
// one place.
func measuresLate(s spec.Snapshot) bool {
	r := s.Response
	return traitsOf(s.Operation).followsPresent && !r.Filtered.IsZero() && r.Filtered.String() == r.UpdatedAt.String()
}

// passed is the stretch up to the watermark that was read without a hole. What
// lies before it may be read for the first time, by a lookback longer than all
// harvests so far or after an operator moved the watermark: new items there did
// not come late. Nor do those of a window that is still owed: the watermark
// stands before it.
func (b Books) passed() window.Window {
	at := b.cursor()
	if at == nil {
		return window.Window{}
	}
	from := *at
	for _, seg := range slices.Backward(b.Own.Segments) {
		if !seg.Window.From.Before(from) {
			continue // beyond the watermark
		}
		if seg.Have.IsZero() || seg.Window.To.Before(from) {
			break
		}
		from = seg.Window.From
	}
	return window.Window{From: from, To: *at}
}

// sliceParams are the settings a plan is cut by, its lag among them (S appendix C).
func (d *Draft) sliceParams(c *spec.Compiled) ([]byte, error) {
	var lag *int64
	if d.lag != nil {
		seconds := int64(d.lag.SafetyLag.Seconds())
		lag = &seconds
	}
	return json.Marshal(struct {
		slicing.Config
		SafetyLagSec *int64        `json:"safetyLagSec,omitempty"`
		Refresh      *refresh.Spec `json:"refresh,omitempty"`
	}{c.Snapshot.Slicing, lag, d.refresh})
}
