package coverage

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/window"
)

// State is the coverage of one cursor namespace.
type State struct {
	Origin   time.Time     // the lowest instant any plan wanted; zero until the first PLANNED
	Cursor   time.Time     // zero until the first PLANNED
	Lookback time.Duration // of the latest PLANNED
	Segments []Segment     // sorted, disjoint
}

// Fold returns the state after one more event: Start, then Apply, then Advance. It leaves its argument untouched.
func Fold(s State, e Event) State {
	e = e.normalForm()
	s = startFold(s, e)
	s.Segments = applyEvent(s.Segments, e, s.Lookback)
	return s.Advance()
}

// Start returns what an event changes besides the segments it touches. A plan may reach below the first one, by its
// lookback for instance; what it wants there is owed like the rest, or a failed lookback slice would be forgotten once
// the cursor has passed it. So the origin moves down with it, while the cursor stays.
func Start(s State, e Event) State { return startFold(s, e.normalForm()) }

func startFold(s State, e Event) State {
	switch {
	case e.Kind == Planned:
		s.Lookback = e.Lookback
		if len(e.Windows) > 0 {
			s.Origin = lowerOrigin(s.Origin, e.Windows[0].From)
			s.Cursor = startCursor(s.Cursor, e.Windows[0].From)
		}
	case e.Kind == Manual:
		s = State{Origin: e.Value, Cursor: e.Value, Lookback: s.Lookback}
	case e.Kind == Snapshot && e.State != nil:
		s = *e.State
		s.Segments = slices.Clone(s.Segments)
	}
	return s
}

func lowerOrigin(origin, from time.Time) time.Time {
	if origin.IsZero() || from.Before(origin) {
		return from
	}
	return origin
}

func startCursor(cursor, from time.Time) time.Time {
	if cursor.IsZero() {
		return from
	}
	return cursor
}

// Advance moves the cursor to the frontier if that lies ahead (I5).
func (s State) Advance() State {
	s.Cursor = window.Later(s.Cursor, Frontier(s.Origin, s.Segments))
	return s
}

// stateText is the state as a SNAPSHOT event stores it.
type stateText struct {
	Origin   time.Time         `json:"origin,omitzero"`
	Cursor   time.Time         `json:"cursor,omitzero"`
	Lookback duration.Duration `json:"lookback"`
	Segments []Segment         `json:"segments"`
}

// MarshalJSON writes the state for the ledger.
func (s State) MarshalJSON() ([]byte, error) {
	return json.Marshal(stateText{s.Origin, s.Cursor, duration.Duration(s.Lookback), s.Segments})
}

// UnmarshalJSON reads what MarshalJSON writes and refuses a coverage that is not sorted and disjoint.
func (s *State) UnmarshalJSON(text []byte) error {
	var in stateText
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("read coverage state: %w", err)
	}
	for i, seg := range in.Segments {
		if seg.Window.Empty() || i > 0 && seg.Window.From.Before(in.Segments[i-1].Window.To) {
			return fmt.Errorf("read coverage state: segment %d %s is empty or overlaps the one before", i, seg.Window)
		}
	}
	*s = State{in.Origin, in.Cursor, in.Lookback.Std(), in.Segments}
	return nil
}
