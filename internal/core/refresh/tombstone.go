package refresh

import "time"

// How long a tombstone is left alone. What was deleted by mistake is mostly back
// within days; what stayed away for years hardly ever comes.
const (
	ShortestRest = 7 * 24 * time.Hour
	LongestRest  = 365 * 24 * time.Hour
)

// Rest is how long a tombstone is left alone after it was last looked at: as long as
// it had been gone by then, but at least a week and at most a year. So the looks at it
// come ever more rarely.
func Rest(goneSince, lastLook time.Time) time.Duration {
	return min(max(lastLook.Sub(goneSince), ShortestRest), LongestRest)
}

// Wakes reports whether a tombstone is looked at again by an update of turns up to an
// instant. The look itself comes with the next turn of the record.
func Wakes(goneSince, lastLook, before time.Time) bool {
	return before.Sub(lastLook) >= Rest(goneSince, lastLook)
}
