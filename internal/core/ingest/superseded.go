package ingest

import "time"

// OutlivedPlan is an open plan that was made before its source was changed. Its slices keep
// the source as it was (I10).
type OutlivedPlan struct {
	ID      int64
	Made    time.Time
	Changed time.Time // since when the source is another
	Open    int       // tasks that have not ended
	Failing int       // of these, how many failed when they were last tried
	Runs    []PastRun // the newest that ended, newest first
}

// PastRun is what an ended run says about its plan.
type PastRun struct {
	Pages  int
	Failed bool // at the upstream, or at the way to it; false: it was stopped, or told to wait
}

// Runs that are looked at to tell whether a plan gets anywhere.
const (
	// RunsLookedAt is how many of the newest runs are read.
	RunsLookedAt = 20
	// fruitless is how many failed runs without a page in between show that the plan
	// gets nowhere.
	fruitless = 3
)

// IsStuck reports whether the plan gets nowhere, so that nothing is lost by giving it
// up: no run had a page, the newest ones failed without one, or all it has left failed.
// One that was never tried, and one that reads on, is left alone.
func (p OutlivedPlan) IsStuck() bool {
	if p.Open == 0 || len(p.Runs) == 0 {
		return false
	}
	if p.Failing == p.Open {
		return true
	}
	failed := 0
	for _, r := range p.Runs {
		if r.Pages > 0 {
			return failed >= fruitless
		}
		if r.Failed {
			failed++
		}
	}
	return true
}
