package view

import (
	"slices"
	"sort"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// MapQuery asks for a map of coverage.
type MapQuery struct {
	Source string // of one source; empty: of all
	Within window.Window
	Unit   MapUnit
	Counts bool // with the items of cells, and what is thin or short
	// Troubles also tells what is not as it should be, stretch by stretch.
	Troubles bool
}

// MapUnit is how long a cell of a map is, by the calendar in UTC.
type MapUnit string

// The units of maps.
const (
	MapHours  MapUnit = "hour"
	MapDays   MapUnit = "day"
	MapMonths MapUnit = "month"
)

// CoverageMap is what became of a range of time, by source and endpoint.
type CoverageMap struct {
	Window window.Window  `json:"window"`
	Unit   MapUnit        `json:"unit"`
	Lines  []CoverageLine `json:"lines"`
}

// SourceMapQuery asks for the map of one source.
type SourceMapQuery struct {
	Source   string
	Endpoint string        // empty: the first
	Years    window.Window // shown by month
	Year     int           // shown by day; zero: the one YearToShow names
	Range    window.Window // shown closely; empty: none
	Now      time.Time
}

// SourceMap is one source at several scales.
type SourceMap struct {
	Lines     []CoverageLine // its endpoints by month
	Chosen    int            // the one of them that the rest is about
	Year      int
	Days      CoverageLine // the year by day
	DaysError error        // why the year could not be drawn
	Range     CoverageLine // by hour, or by day where it is longer than two days
}

// CoverageLine is the harvest of one endpoint on a map, with what backfills read that asked
// the same.
type CoverageLine struct {
	Source   string              `json:"source"`
	Endpoint string              `json:"endpoint"`
	Field    string              `json:"cursorKey"`
	CursorID int64               `json:"cursorId,omitempty"`
	FreshTo  time.Time           `json:"freshTo,omitzero"`
	Origin   time.Time           `json:"origin,omitzero"`   // where the harvest began
	Earliest time.Time           `json:"earliest,omitzero"` // of the source, where it declares that
	ByDay    bool                `json:"byDay"`             // it can be asked for whole days only
	Error    string              `json:"error,omitempty"`   // it could not be computed
	Cells    []MapCell           `json:"cells"`
	Amounts  map[CellState]int64 `json:"amounts"` // microseconds by state
	Troubles []Stretch           `json:"troubles,omitempty"`
}

// Asked returns how much of the time somebody wants or wanted, in microseconds.
func (l CoverageLine) Asked() (n int64) {
	for state, part := range l.Amounts {
		if state != CellNothing && state != "" {
			n += part
		}
	}
	return n
}

// Done returns how much of it needs no reading.
func (l CoverageLine) Done() (n int64) {
	for state, part := range l.Amounts {
		if state.Done() {
			n += part
		}
	}
	return n
}

// YearToShow returns the newest year with something wrong, else the newest that was asked for.
func (l CoverageLine) YearToShow(now time.Time) int {
	newest := 0
	for _, c := range slices.Backward(l.Cells) {
		if c.Worst == "" || c.Worst == CellNothing {
			continue
		}
		if newest == 0 {
			newest = c.Window.From.Year()
		}
		if c.Worst.Rank() < CellOwed.Rank() {
			return c.Window.From.Year()
		}
	}
	if newest == 0 {
		return now.Year()
	}
	return newest
}

// MapCell is one cell of a map.
type MapCell struct {
	Window window.Window `json:"window"`
	Most   CellState     `json:"most"`  // what most of it is; empty: it has not come yet
	Worst  CellState     `json:"worst"` // what is worst in it, however short
	Items  *int64        `json:"items,omitempty"`
	Told   *int64        `json:"told,omitempty"` // how many the upstream said it has, where it did
}

// State returns how a cell is drawn alone: what is partly done and has no failure is that.
func (c MapCell) State() CellState {
	if c.Most.Done() && (c.Worst == CellOwed || c.Worst == CellNothing) {
		return CellPartly
	}
	return c.Worst
}

// Missing returns how many items the upstream said it has beyond those that were read; zero
// where nobody knows.
func (c MapCell) Missing() int64 {
	if c.Items == nil || c.Told == nil {
		return 0
	}
	return max(0, *c.Told-*c.Items)
}

// Stretch is a range of time that is not as it should be.
type Stretch struct {
	Window window.Window `json:"window"`
	State  CellState     `json:"state"`
	Gap    *Gap          `json:"gap,omitempty"` // why it is not done
	Items  *int64        `json:"items,omitempty"`
	Told   *int64        `json:"told,omitempty"`
	Code   string        `json:"code,omitempty"`   // of what failed there last
	TaskID int64         `json:"taskId,omitempty"` // that failed there last
}

// Reading is one slice of a stretch of time: what was read of it last, or that it failed, or
// that it is on its way.
type Reading struct {
	Window window.Window `json:"window"`
	State  CellState     `json:"state"`
	Items  *int64        `json:"items,omitempty"`
	Told   *int64        `json:"told,omitempty"`
	AsOf   time.Time     `json:"asOf,omitzero"`
	RunID  int64         `json:"runId,omitempty"`
	Code   string        `json:"code,omitempty"`
	TaskID int64         `json:"taskId,omitempty"`
}

// Tile is a range of time that is in one state.
type Tile struct {
	Window window.Window
	State  CellState
}

// Mosaic tiles a window: sorted, without gaps.
type Mosaic []Tile

// Paint gives the parts of windows another state that are in one of those it goes over.
// Nothing else changes: what is worse stays worse.
func (m Mosaic) Paint(windows []window.Window, state CellState, over ...CellState) Mosaic {
	windows = window.Union(windows)
	if len(windows) == 0 {
		return m
	}
	goes := map[CellState]bool{}
	for _, s := range over {
		goes[s] = true
	}
	out, first := make(Mosaic, 0, len(m)+2*len(windows)), 0
	for _, t := range m {
		for first < len(windows) && !windows[first].To.After(t.Window.From) {
			first++
		}
		if !goes[t.State] {
			out = out.add(t)
			continue
		}
		at := t.Window.From
		for _, w := range windows[first:] {
			part := w.Intersect(t.Window)
			if part.Empty() {
				break
			}
			out = out.add(Tile{window.Window{From: at, To: part.From}, t.State}).add(Tile{part, state})
			at = part.To
		}
		out = out.add(Tile{window.Window{From: at, To: t.Window.To}, t.State})
	}
	return out
}

// add appends a tile, to its neighbour where that is in the same state.
func (m Mosaic) add(t Tile) Mosaic {
	if t.Window.Empty() {
		return m
	}
	if n := len(m); n > 0 && m[n-1].State == t.State && m[n-1].Window.To.Equal(t.Window.From) {
		m[n-1].Window.To = t.Window.To
		return m
	}
	return append(m, t)
}

// worstFirst ranks what must not be hidden by anything else.
var worstFirst = []CellState{CellCapped, CellFailed, CellLeft, CellShort, CellThin, CellOwed, CellReading, CellNothing, CellRejects, CellWaived, CellBackfilled, CellDone}

// Rank returns how bad a state is: 0 is the worst.
func (s CellState) Rank() int {
	for i, one := range worstFirst {
		if one == s {
			return i
		}
	}
	return len(worstFirst)
}

// Cell returns what most of a window is and what is worst in it. Time that has not come yet
// counts for nothing.
func (m Mosaic) Cell(w window.Window) MapCell {
	c, most := MapCell{Window: w}, map[CellState]int64{}
	first := sort.Search(len(m), func(i int) bool { return m[i].Window.To.After(w.From) })
	for _, t := range m[first:] {
		part := t.Window.Intersect(w)
		if part.Empty() {
			break
		}
		if t.State == "" {
			continue
		}
		most[t.State] += part.To.UnixMicro() - part.From.UnixMicro()
		if c.Worst == "" || t.State.Rank() < c.Worst.Rank() {
			c.Worst = t.State
		}
	}
	for state, n := range most {
		if old := most[c.Most]; c.Most == "" || n > old || n == old && state.Rank() < c.Most.Rank() {
			c.Most = state
		}
	}
	return c
}

// Amounts adds up how long which state lasts, in microseconds: a duration would end at 292
// years.
func (m Mosaic) Amounts() map[CellState]int64 {
	out := map[CellState]int64{}
	for _, t := range m {
		out[t.State] += t.Window.To.UnixMicro() - t.Window.From.UnixMicro()
	}
	return out
}
