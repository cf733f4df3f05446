package view

import (
	"encoding/json"
	"time"
)

type plainCursorEvent CursorEvent

// cursorEventJSON has the lookback in seconds, as every length of time that is
// shown. Exported batches that were written before that rule have nanoseconds.
type cursorEventJSON struct {
	*plainCursorEvent
	Lookback float64 `json:"lookbackSeconds"`
	Nanos    *int64  `json:"lookbackNanos,omitempty"`
}

// MarshalJSON writes the lookback in seconds.
func (e CursorEvent) MarshalJSON() ([]byte, error) {
	return json.Marshal(cursorEventJSON{plainCursorEvent: (*plainCursorEvent)(&e), Lookback: e.Lookback.Seconds()})
}

// UnmarshalJSON reads the lookback in seconds, or in nanoseconds as it was written
// before.
func (e *CursorEvent) UnmarshalJSON(text []byte) error {
	in := cursorEventJSON{plainCursorEvent: (*plainCursorEvent)(e)}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	e.Lookback = time.Duration(in.Lookback * float64(time.Second)).Round(time.Microsecond)
	if in.Nanos != nil {
		e.Lookback = time.Duration(*in.Nanos)
	}
	return nil
}
