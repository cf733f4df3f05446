package window

import (
	"encoding/json"
	"fmt"
	"time"
)

// Window is the half-open interval [From, To) in UTC microseconds. An instant equal to To belongs to the next window.
type Window struct{ From, To time.Time }

// New cuts both ends to the microsecond and refuses a reversed or out-of-range interval. Equal ends give an empty window.
func New(from, to time.Time) (Window, error) {
	w := Window{From: Instant(from), To: Instant(to)}
	return w, w.Validate()
}

// Validate reports whether the window could have come from New.
func (w Window) Validate() error {
	for _, end := range []time.Time{w.From, w.To} {
		if err := CheckInstant(end); err != nil {
			return fmt.Errorf("window %s: %w", w, err)
		}
		if end != Instant(end) {
			return fmt.Errorf("window %s: ends must be UTC and whole microseconds", w)
		}
	}
	if w.To.Before(w.From) {
		return fmt.Errorf("window %s: the end lies before the start", w)
	}
	return nil
}

// Empty reports whether no instant lies in the window.
func (w Window) Empty() bool { return !w.From.Before(w.To) }

// Contains reports whether t lies in the window.
func (w Window) Contains(t time.Time) bool { return !t.Before(w.From) && t.Before(w.To) }

// Duration returns the length of the window; it stops growing at about 292 years.
func (w Window) Duration() time.Duration {
	if w.Empty() {
		return 0
	}
	return w.To.Sub(w.From)
}

// Intersect returns the part both windows share; the zero Window if there is none.
func (w Window) Intersect(o Window) Window {
	shared := Window{From: Later(w.From, o.From), To: Earlier(w.To, o.To)}
	if shared.Empty() {
		return Window{}
	}
	return shared
}

// Overlaps reports whether the windows share an instant.
func (w Window) Overlaps(o Window) bool { return !w.Intersect(o).Empty() }

// Split cuts the window at an instant. An instant outside leaves one side empty.
func (w Window) Split(at time.Time) (before, after Window) {
	at = Instant(at)
	return Window{From: w.From, To: Later(w.From, Earlier(w.To, at))},
		Window{From: Earlier(w.To, Later(w.From, at)), To: w.To}
}

func (w Window) String() string { return "[" + Text(w.From) + ", " + Text(w.To) + ")" }

type wire struct {
	From *time.Time `json:"from"`
	To   *time.Time `json:"to"`
}

// MarshalJSON writes {"from":…,"to":…}, and null for the zero Window, which stands for "no window".
func (w Window) MarshalJSON() ([]byte, error) {
	if w == (Window{}) {
		return []byte("null"), nil
	}
	w = Window{From: Instant(w.From), To: Instant(w.To)}
	if err := w.Validate(); err != nil {
		return nil, err
	}
	return json.Marshal(wire{From: &w.From, To: &w.To})
}

// UnmarshalJSON reads what MarshalJSON writes, in any zone.
func (w *Window) UnmarshalJSON(text []byte) error {
	var in *wire
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("read window: %w", err)
	}
	if in == nil {
		*w = Window{}
		return nil
	}
	if in.From == nil || in.To == nil {
		return fmt.Errorf("read window: both from and to are needed, got %s", text)
	}
	read, err := New(*in.From, *in.To)
	if err != nil {
		return fmt.Errorf("read window: %w", err)
	}
	*w = read
	return nil
}
