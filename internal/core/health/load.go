package health

import (
	"fmt"
	"time"
)

// Load is what a run has seen of its slice so far.
type Load struct {
	Expected  int64       // items the planner expected; zero: it had no idea
	Pages     int         // read in this pass
	Seen      int64       // items of this pass
	Throttled []time.Time // when the upstream said that it is asked too much
	Recent    []bool      // the last pages: true for one that did not come at the first try
	Limits    Config      // of the source
}

// Thresholds of S appendix B that no source changes. A slice is not judged before it has
// shown something: cutting a small one would only make more of the same.
const (
	throttledMost = 5
	recentPages   = 50
)

// Page notes how a page came: after how many tries that failed, how many of these
// were told to slow down, and how many items the pass has had by then.
func (l *Load) Page(failed, throttled, seen int, now time.Time) {
	l.Pages++
	l.Seen = int64(seen)
	l.Recent = append(l.Recent, failed > throttled)
	if extra := len(l.Recent) - recentPages; extra > 0 {
		l.Recent = l.Recent[extra:]
	}
	for range throttled {
		l.Throttled = append(l.Throttled, now)
	}
	for len(l.Throttled) > 0 && now.Sub(l.Throttled[0]) > Span {
		l.Throttled = l.Throttled[1:]
	}
}

// Endless reports that there are more pages than one slice should have.
func (l *Load) Endless() bool { return l.Pages >= l.Limits.WithDefaults().MaxPagesSoft }

// TooMuch names why the rest of the slice had better be smaller ones, or nothing
// (S§5.6).
func (l *Load) TooMuch() (Condition, string) {
	failed, most := 0, l.Limits.WithDefaults()
	for _, bad := range l.Recent {
		if bad {
			failed++
		}
	}
	switch {
	case l.Endless():
		return TooDeep, fmt.Sprintf("%d pages and no end", l.Pages)
	case len(l.Recent) < recentPages:
		return "", ""
	case l.Expected > 0 && l.Seen >= int64(most.EstimateTimes)*l.Expected:
		return EstimateOff, fmt.Sprintf("%d items where %d were expected", l.Seen, l.Expected)
	case len(l.Throttled) >= throttledMost:
		return Throttled, fmt.Sprintf("told to slow down %d times within %s", len(l.Throttled), Span)
	case float64(failed) >= most.FailedShare*recentPages && failed > 1:
		return Failing, fmt.Sprintf("%d of the last %d pages did not come at the first try", failed, recentPages)
	}
	return "", ""
}
