package view

import (
	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Coverage is one cursor's book, and what became of its time.
type Coverage struct {
	Cursor      Cursor               `json:"cursor"`
	Window      window.Window        `json:"window"`
	Segments    []coverage.Segment   `json:"segments"`
	Stretches   []coverage.FateRange `json:"stretches"` // with what backfills read that asked the same
	Cells       []CoverageCell       `json:"cells"`
	Thin        []coverage.Counted   `json:"thin,omitempty"` // days with far fewer items than their neighbours
	Quarantined []Marked             `json:"quarantined,omitempty"`
	Capped      []window.Window      `json:"capped,omitempty"`
}

// CoverageCell is one cell of a strip.
type CoverageCell struct {
	Window    window.Window `json:"window"`
	State     CellState     `json:"state"`
	Sign      string        `json:"sign"` // as a strip draws the state
	Done      bool          `json:"done"`
	DoneShare float64       `json:"doneShare"`
}
