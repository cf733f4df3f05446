package slicing

import (
	"fmt"
	"time"
)

// Load is what a run has seen of its slice so far.
type Load struct {
	Pages     int         // read in this pass
	Throttled []time.Time // when the upstream said that it is asked too much
	Recent    []bool      // the last pages: true for one that did not come at the first try
}

// Thresholds of S appendix B. A slice is not judged before it has shown something:
// cutting a small one would only make more of the same.
const (
	hardPages     = 2000
	throttledSpan = 5 * time.Minute
	throttledMost = 5
	recentPages   = 50
	recentFailed  = 0.05
)

// Page notes how a page came: after how many tries that failed, and how many of
// these were told to slow down.
func (l *Load) Page(failed, throttled int, now time.Time) {
	l.Pages++
	l.Recent = append(l.Recent, failed > throttled)
	if extra := len(l.Recent) - recentPages; extra > 0 {
		l.Recent = l.Recent[extra:]
	}
	for range throttled {
		l.Throttled = append(l.Throttled, now)
	}
	for len(l.Throttled) > 0 && now.Sub(l.Throttled[0]) > throttledSpan {
		l.Throttled = l.Throttled[1:]
	}
}

// Endless reports that there are more pages than one slice should have.
func (l *Load) Endless() bool { return l.Pages >= hardPages }

// TooMuch says why the rest of the slice had better be smaller ones, or nothing.
func (l *Load) TooMuch() string {
	failed := 0
	for _, bad := range l.Recent {
		if bad {
			failed++
		}
	}
	switch {
	case l.Endless():
		return fmt.Sprintf("%d pages and no end", l.Pages)
	case len(l.Recent) < recentPages:
		return ""
	case len(l.Throttled) >= throttledMost:
		return fmt.Sprintf("told to slow down %d times within %s", len(l.Throttled), throttledSpan)
	case float64(failed) >= recentFailed*recentPages && failed > 1:
		return fmt.Sprintf("%d of the last %d pages did not come at the first try", failed, recentPages)
	}
	return ""
}
