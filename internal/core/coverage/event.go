package coverage

import (
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Kind says what an event of the cursor ledger means for coverage.
type Kind string

const (
	Planned   Kind = "PLANNED"   // a plan wants its windows, as of its nowSafe
	Succeeded Kind = "SUCCEEDED" // a slice was read to its end
	Failed    Kind = "FAILED"    // a slice was given up; its window stays owed
	Waived    Kind = "WAIVED"    // an operator accepts that the window is not read
	Manual    Kind = "MANUAL"    // an operator set the cursor: the fold starts over
	Snapshot  Kind = "SNAPSHOT"  // the state at a point of the ledger, so that older events may go
)

// ParseKind reads a kind code.
func ParseKind(code string) (Kind, error) {
	switch k := Kind(code); k {
	case Planned, Succeeded, Failed, Waived, Manual, Snapshot:
		return k, nil
	}
	return "", fmt.Errorf("coverage event kind %q: expected PLANNED, SUCCEEDED, FAILED, WAIVED, MANUAL or SNAPSHOT", code)
}

// Event is one entry of the ledger. Which fields count depends on its kind.
type Event struct {
	Kind     Kind
	Windows  []window.Window // owned windows without overlap; PLANNED: what will be sliced, without the skips
	AsOf     time.Time       // the plan's nowSafe, inherited by its slices and their retries
	At       time.Time       // when it happened: the retry of a FAILED window counts from here
	Lookback time.Duration   // PLANNED: the lookback of the plan
	Value    time.Time       // MANUAL: the new cursor
	State    *State          // SNAPSHOT
}

// normalForm gives an event the form the fold relies on: instants of the store, windows sorted and apart. Overlapping
// windows of one event count once.
func (e Event) normalForm() Event {
	e.AsOf, e.At, e.Value = window.Instant(e.AsOf), window.Instant(e.At), window.Instant(e.Value)
	e.Lookback = max(0, e.Lookback)
	if len(e.Windows) == 1 && !e.Windows[0].Empty() && e.Windows[0].Validate() == nil {
		return e // what a slice owns, as stored
	}
	cut := slices.Clone(e.Windows)
	for i, w := range cut {
		cut[i] = window.Window{From: window.Instant(w.From), To: window.Instant(w.To)}
	}
	e.Windows = window.Union(cut)
	return e
}

// updateSegment applies the event to a range it owns. Three kinds only raise one value by max, so their order, overlap
// and repetition cannot matter. Failures describe what is owed: on a range that is done they neither count nor stay.
func (e *Event) updateSegment(s *Segment) {
	switch e.Kind {
	case Planned:
		s.Want = window.Later(s.Want, e.AsOf)
	case Succeeded:
		s.Have = window.Later(s.Have, e.AsOf)
		s.Fails, s.RetryAfter = 0, time.Time{}
	case Waived:
		s.Waived = window.Later(s.Waived, e.AsOf)
	case Failed:
		s.Fails++
		s.RetryAfter = window.Later(s.RetryAfter, e.At.Add(Backoff.After(s.Fails)))
	}
	if s.isDone() {
		s.Fails, s.RetryAfter = 0, time.Time{}
	}
}
