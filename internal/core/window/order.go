package window

import (
	"fmt"
	"time"
)

// Order is how an upstream sorts a list by the followed date.
type Order string

const (
	Ascending  Order = "ASC"  // oldest first
	Descending Order = "DESC" // newest first: a feed
)

// enoughDates is how many dates must have been seen in order before a list counts as
// sorted: a few are in order by chance.
const enoughDates = 10

// Trend is what a walk has seen of the order of a list. An order that was only promised is
// never believed: it is looked at while the list is read (I2, D§5.26).
//
// A date such as 2025-03-04 stands for a whole day. Two dates that share an instant may
// stand in either order; one that lies wholly on the other side of an earlier one breaks it,
// and so does one of another precision: an upstream may sort it anywhere within its span.
type Trend struct {
	Dated    int       `json:"dated,omitempty"`
	Low      time.Time `json:"low,omitzero"`   // earliest end of a date
	High     time.Time `json:"high,omitzero"`  // latest beginning of a date
	Unit     int64     `json:"unit,omitempty"` // length of the first date, in microseconds
	Rose     bool      `json:"rose,omitempty"`
	Fell     bool      `json:"fell,omitempty"`
	Unsorted string    `json:"unsorted,omitempty"` // why the list is not sorted as declared; stays once it is known
}

// Note takes note of the date of the next item.
func (t *Trend) Note(declared Order, date Window) {
	if t.Dated++; t.Dated == 1 {
		t.Low, t.High, t.Unit = date.To, date.From, lengthOf(date)
		return
	}
	if unit := lengthOf(date); unit >= 2*t.Unit || t.Unit >= 2*unit {
		t.breakFor(fmt.Sprintf("the dates of items have different precisions, such as %s", date))
	}
	rises, falls := !date.From.Before(t.Low), !date.To.After(t.High)
	switch {
	case rises && declared == Descending:
		t.breakFor(fmt.Sprintf("an item of %s stands behind an older one, from before %s (window.order: %s)", Text(date.From), Text(t.Low), declared))
	case falls && declared == Ascending:
		t.breakFor(fmt.Sprintf("an item from before %s stands behind a newer one, of %s (window.order: %s)", Text(date.To), Text(t.High), declared))
	}
	t.Rose, t.Fell = t.Rose || rises, t.Fell || falls
	t.Low, t.High = Earlier(t.Low, date.To), Later(t.High, date.From)
}

// lengthOf returns how long the span is that a date names. Days and months of one calendar
// differ a little.
func lengthOf(date Window) int64 { return max(date.Duration().Microseconds(), 1) }

// NoteUndated takes note of an item without a date: nobody knows where in the order its
// like stand.
func (t *Trend) NoteUndated() { t.breakFor("an item has no date (response.filtered)") }

func (t *Trend) breakFor(why string) {
	if t.Unsorted == "" {
		t.Unsorted = why
	}
}

// Sorted reports whether the list was seen to be sorted as declared.
func (t Trend) Sorted(declared Order) bool {
	if t.Unsorted != "" || t.Dated < enoughDates {
		return false
	}
	return declared == Ascending && t.Rose || declared == Descending && t.Fell
}

// Passed reports whether a walk has come behind a window, in the direction of the list, by
// more than the margin: then no item of the window follows. The margin is how far behind
// its place an item may stand without being missed: it is met on the way, and breaks the order.
func (t Trend) Passed(declared Order, w Window, margin time.Duration) bool {
	if !t.Sorted(declared) {
		return false
	}
	if declared == Ascending {
		return !t.High.Before(w.To.Add(margin))
	}
	return !t.Low.After(w.From.Add(-margin))
}

// Restarted returns what is still known when a list is read once more: an order that was
// found broken stays broken.
func (t Trend) Restarted() Trend { return Trend{Unsorted: t.Unsorted} }
