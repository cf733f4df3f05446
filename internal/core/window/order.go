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

// enoughPast is how many items must lie behind a window before a walk ends: one that is
// shown beside the list, or stands in the wrong place, is not the end.
const enoughPast = 3

// Trend is what a walk has seen of the order of a list. An order that was only promised is
// never believed: it is looked at while the list is read (I2, D§5.26).
//
// A date such as 2025-03-04 stands for a whole day. Two dates that share an instant may
// stand in either order; one that lies wholly on the other side of an earlier one breaks it,
// and so does one of another precision: an upstream may sort it anywhere within its span.
type Trend struct {
	Dated    int                   `json:"dated,omitempty"`
	Lows     [enoughPast]time.Time `json:"lows,omitzero"`      // earliest ends of dates, the earliest first
	Highs    [enoughPast]time.Time `json:"highs,omitzero"`     // latest beginnings of dates, the latest first
	Unit     int64                 `json:"unit,omitempty"`     // length of the first date, in microseconds
	Turned   bool                  `json:"turned,omitempty"`   // two dates differed, in the declared direction
	Unsorted string                `json:"unsorted,omitempty"` // why the list is not sorted as declared; stays once it is known
}

// Note takes note of the date of the next item.
func (t *Trend) Note(declared Order, date Window) {
	if t.Dated == 0 {
		t.Unit = lengthOf(date)
	} else {
		t.compare(declared, date)
	}
	low, high := date.To, date.From
	for i := range min(t.Dated, enoughPast) {
		if low.Before(t.Lows[i]) {
			low, t.Lows[i] = t.Lows[i], low
		}
		if high.After(t.Highs[i]) {
			high, t.Highs[i] = t.Highs[i], high
		}
	}
	if t.Dated < enoughPast {
		t.Lows[t.Dated], t.Highs[t.Dated] = low, high
	}
	t.Dated++
}

// compare holds a date against those before it.
func (t *Trend) compare(declared Order, date Window) {
	if unit := lengthOf(date); unit >= 2*t.Unit || t.Unit >= 2*unit {
		t.Break(fmt.Sprintf("the dates of items have different precisions, such as %s", date))
	}
	rises, falls := !date.From.Before(t.Lows[0]), !date.To.After(t.Highs[0])
	switch {
	case rises && declared == Descending:
		t.Break(fmt.Sprintf("an item of %s stands behind an older one, from before %s (window.order: %s)", Text(date.From), Text(t.Lows[0]), declared))
	case falls && declared == Ascending:
		t.Break(fmt.Sprintf("an item from before %s stands behind a newer one, of %s (window.order: %s)", Text(date.To), Text(t.Highs[0]), declared))
	}
	t.Turned = t.Turned || rises && declared == Ascending || falls && declared == Descending
}

// lengthOf returns how long the span is that a date names. Days and months of one calendar
// differ a little.
func lengthOf(date Window) int64 { return max(date.Duration().Microseconds(), 1) }

// Break takes note of why the list cannot be taken for sorted. The first reason stays.
func (t *Trend) Break(why string) {
	if t.Unsorted == "" {
		t.Unsorted = why
	}
}

// Sorted reports whether the list was seen to be sorted as declared.
func (t Trend) Sorted() bool { return t.Unsorted == "" && t.Dated >= enoughDates && t.Turned }

// Passed reports whether a walk has come behind a window, in the direction of the list, by
// more than the margin: then no item of the window follows. The margin is how far behind
// its place an item may stand without being missed: it is met on the way, and breaks the order.
func (t Trend) Passed(declared Order, w Window, margin time.Duration) bool {
	if !t.Sorted() {
		return false
	}
	if declared == Ascending {
		return !t.Highs[enoughPast-1].Before(w.To.Add(margin))
	}
	return !t.Lows[enoughPast-1].After(w.From.Add(-margin))
}

// Restarted returns what is still known when a list is read once more: an order that was
// found broken stays broken.
func (t Trend) Restarted() Trend { return Trend{Unsorted: t.Unsorted} }
