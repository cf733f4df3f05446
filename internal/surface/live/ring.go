package live

import (
	"strconv"
	"strings"
)

// Bounds of what is kept for those who come back.
const (
	mostEvents = 2000
	mostBytes  = 1 << 20
)

// ring keeps the last events, by number without holes.
type ring struct {
	last   int64 // number of the newest event; 0: there was none
	events []event
	bytes  int
}

// add numbers an event and keeps it, and drops the oldest ones beyond the bounds.
func (r *ring) add(e event) {
	r.last++
	e.number = r.last
	r.events, r.bytes = append(r.events, e), r.bytes+len(e.data)
	drop := 0
	for len(r.events)-drop > mostEvents || r.bytes > mostBytes {
		r.bytes -= len(r.events[drop].data)
		r.events[drop] = event{} // its text is not held by what is left of the slice
		drop++
	}
	r.events = r.events[drop:]
}

// since returns the events after a number; false if some of them are gone, or if nobody
// could have seen that number.
func (r *ring) since(number int64) ([]event, bool) {
	if number > r.last || r.last-number > int64(len(r.events)) {
		return nil, false
	}
	return r.events[len(r.events)-int(r.last-number):], true
}

// spellID writes the number of an event so that it means nothing to another process.
func spellID(process string, number int64) string {
	return process + "-" + strconv.FormatInt(number, 10)
}

// parseID reads what a client saw last; false if it is no number of this process.
func parseID(process, text string) (int64, bool) {
	digits, ours := strings.CutPrefix(text, process+"-")
	if !ours {
		return 0, false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, err == nil && number >= 0
}
