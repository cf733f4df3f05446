package refresh

import "time"

// How long a tombstone is left alone after it was last looked at: as long as it had
// been gone by then, but at least a week and at most a year. So the looks at it come
// ever more rarely. What was deleted by mistake is mostly back within days; what stayed
// away for years hardly ever comes.
const (
	ShortestRest = 7 * 24 * time.Hour
	LongestRest  = 365 * 24 * time.Hour
)
