package slicing

import (
	"math"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Request is what a strategy cuts.
type Request struct {
	Owed []window.Window // sorted, disjoint
	// Within is what the owed windows are parts of, where that is more: the
	// overlap of a slice reaches into it.
	Within []window.Window
	// Grid moves a cut down to an instant the upstream can express. Cuts on
	// that grid keep two slices from asking for the same day (S§5.4).
	Grid      func(time.Time) time.Time
	Config    Config
	PageSize  int
	SafetyLag time.Duration
	Order     string
	Precision string
	Paging    string
	Initial   string

	// Estimates tells what is known about a window as it is asked for, the
	// overlap included. Without it nothing is wanted, and only slicing.perDay
	// makes a slice wider or narrower than a step.
	Estimates            func(window.Window) (Estimate, bool)
	MinWindow, MaxWindow time.Duration // bounds of a slice (window.minWindow, window.maxWindow); 0 for none
	Cap                  int64         // items the upstream serves of one query (paging.maxResults); 0 for no cap
	MaxPages             int           // used where slicing.maxPages is not set; 0 for no limit
	NewestFirst          bool          // D§5.9
	Candidates           *Candidates   // what ID_RANGE cuts
	Steps                []Step        // what a slice makes endpoints do; the first one finds, a second one reads details
	OneUnit              bool          // a request names one unit of the grid: no slice may be longer
	Whole                bool          // a request names no upper bound: each owed window is one slice
	Priority             string        // HIGH, MEDIUM or LOW (S§10); HIGH where it is not said
}

// mostItems returns how many items a slice may be expected to hold without
// being bisected: target, pages, cap, and the budget it would not get through
// with.
func (r Request) mostItems() int64 {
	c := r.Config
	pages := c.MaxPages
	if pages == 0 {
		pages = r.MaxPages
	}
	limit := int64(math.MaxInt64)
	for _, bound := range []int64{
		int64(float64(c.TargetRecords) * (1 + c.Tolerance)), r.Cap, int64(c.MaxRecords),
		onPages(pages, r.PageSize), onPages(c.MaxRequests, r.PageSize),
	} {
		if bound > 0 {
			limit = min(limit, bound)
		}
	}
	return limit
}

func onPages(pages, size int) int64 {
	if pages <= 0 || size <= 0 || pages > math.MaxInt64/size {
		return 0
	}
	return int64(pages) * int64(size)
}

// minStep returns the shortest slice a bisection leaves; the grid may forbid it
// to be that short. A slice shorter than its overlap would mostly read what its
// neighbours read.
func (r Request) minStep() time.Duration {
	return max(r.Config.MinStep.Std(), r.MinWindow, r.Config.Overlap.Std())
}

// stepLength returns the length of a slice before estimates are looked at.
func (r Request) stepLength() time.Duration {
	step := max(r.Config.Step.Std(), r.MinWindow)
	if r.MaxWindow > 0 {
		step = min(step, r.MaxWindow)
	}
	return step
}

// overlapReach returns how far the overlap of slices of an owed window may
// reach.
func (r Request) overlapReach(owed window.Window) window.Window {
	for _, whole := range r.Within {
		if whole.Intersect(owed) == owed {
			return whole
		}
	}
	return owed
}

func (r Request) tooWide(w window.Window) bool { return r.MaxWindow > 0 && w.Duration() > r.MaxWindow }
