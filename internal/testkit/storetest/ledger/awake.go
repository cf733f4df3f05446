package ledger

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/refresh"
)

// isAwake reports whether a tombstone is looked at again by an update of turns up to an
// instant: what a store must find, in other words than its own.
func isAwake(goneSince, lastLook, before time.Time) bool {
	rest := min(max(lastLook.Sub(goneSince), refresh.ShortestRest), refresh.LongestRest)
	return before.Sub(lastLook) >= rest
}
