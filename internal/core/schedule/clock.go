package schedule

import "time"

// onClock returns what a clock shows at an instant, written as UTC.
func onClock(at time.Time, in *time.Location) time.Time {
	_, offset := at.In(in).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// farAhead is more than any zone differs from UTC.
const farAhead = 26 * time.Hour

// firstShown returns the first instant at which the clock shows a time or a later
// one: the moment of the jump for a time that is jumped over, the first of the
// two for a time that comes twice. It never goes back for a later time.
func firstShown(clock time.Time, in *time.Location) time.Time {
	at := clock.Add(-farAhead)
	for {
		_, offset := at.In(in).Zone()
		shown := clock.Add(-time.Duration(offset) * time.Second)
		if shown.Before(at) {
			return at // the clock jumped over it at this moment
		}
		_, end := at.In(in).ZoneBounds()
		if end.IsZero() || shown.Before(end) {
			return shown
		}
		at = end.UTC()
	}
}
