package ingest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// CursorType is what a watermark holds (§10.2). TOKEN is known to the dictionary
// only: a token is where a batch resumes, never a watermark (D§5.25).
type CursorType string

// Types of cursors.
const (
	CursorTime CursorType = "TIME"
	CursorID   CursorType = "ID"
)

// Line returns the type of cursor of a namespace; TIME unless it says otherwise.
func (n Namespace) Line() CursorType {
	if n.Type == "" {
		return CursorTime
	}
	return n.Type
}

// Ids stand on a line of their own: a number is a point of it, and so is the
// first seven bytes of the hash of an id. Points are kept as instants, that many
// microseconds after 1970, so that ids have the same book, the same fold and the
// same proof as time. The line ends in the year 4253, which every database holds.
const IDEnd = int64(1) << 56

// IDPoint returns the point of a number.
func IDPoint(number int64) time.Time { return time.UnixMicro(number).UTC() }

// IDNumber returns the number of a point.
func IDNumber(point time.Time) int64 { return point.UnixMicro() }

// IDSpan returns a range of ids: from ≤ id < to.
func IDSpan(from, to int64) window.Window {
	return window.Window{From: IDPoint(from), To: IDPoint(to)}
}

// Text writes a value as people read it; no value is the empty text.
func (t CursorType) Text(at time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case t == CursorID:
		return strconv.FormatInt(IDNumber(at), 10)
	}
	return window.Text(at)
}

// numberDigits is how many digits a number is filled up to where texts are
// compared: the order of the texts is that of the numbers (C§1).
const numberDigits = 38

// Sortable returns the normalised number of an ID; a TIME has none.
func (t CursorType) Sortable(at time.Time) string {
	if t != CursorID || at.IsZero() {
		return ""
	}
	text := t.Text(at)
	return strings.Repeat("0", numberDigits-len(text)) + text
}

// Parse reads a value by its meaning: 007 and 7 are one number, two spellings of
// an instant are one instant (C§2). The empty text is no value.
func (t CursorType) Parse(text string) (time.Time, error) {
	switch {
	case text == "":
		return time.Time{}, nil
	case t != CursorID:
		return window.ParseInstant(text)
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 0 || number > IDEnd {
		return time.Time{}, fmt.Errorf("%q is no id of a cursor: expected a whole number from 0 to %d", text, IDEnd)
	}
	return IDPoint(number), nil
}
