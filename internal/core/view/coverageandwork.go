package view

import (
	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/window"
)

// CoverageAndWork is what is covered of some cursors and what is worked on, at one instant.
type CoverageAndWork struct {
	Segments map[int64][]coverage.Segment // by the id of a cursor; one that was read and has none is there, too
	Open     map[int64][]window.Window    // windows whose tasks wait or are worked on
	Work     []Workload
}

// IsWorkedOn reports whether tasks of the partition of a cursor wait or are worked on.
func (c CoverageAndWork) IsWorkedOn(of Cursor) bool {
	for _, w := range c.Work {
		if w.Source == of.Source && w.Endpoint == of.Endpoint && w.Operation == of.Operation && w.Running+w.Waiting > 0 {
			return true
		}
	}
	return false
}
