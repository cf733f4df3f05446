package ingest

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/window"
)

// ErrSlicedOtherwise: the numbers of these slices are taken by other slices.
// Another planner went on with the plan, or a slice of it was replaced. Read
// what is planned and cut the rest anew.
var ErrSlicedOtherwise = errors.New("the slices of the plan have changed meanwhile")

// PlanArchived refuses a plan that was made before and left the database for a
// file: a repeated request is not planned twice (I8).
type PlanArchived struct {
	Plan int64
	File string
}

func (e PlanArchived) Error() string {
	return fmt.Sprintf("%v: this was planned before, as plan %d, which is archived in %s: give the request another id to plan anew", fault.ErrInvalid, e.Plan, e.File)
}

// Is makes it an invalid request for all who do not ask more closely.
func (e PlanArchived) Is(target error) bool { return target == fault.ErrInvalid }

// ResliceStatus is what became of a request to cut a slice smaller. One whose
// slice ended otherwise than PARTIAL stays PENDING and means nothing.
type ResliceStatus string

// States of a request.
const (
	ReslicePending  ResliceStatus = "PENDING"
	ResliceDone     ResliceStatus = "DONE"     // smaller slices own what was not read
	ResliceDeclined ResliceStatus = "DECLINED" // the slice cannot be cut further
)

// ResliceRequest asks the planner to cut what an attempt could not read smaller
// (S§5.6). The attempt ends as PARTIAL after it.
type ResliceRequest struct {
	Lease     Lease
	Extend    time.Duration // the request also extends the lease by this much
	Reason    fault.Code    // what kept the attempt from getting through
	Remaining window.Window // what was not read; the rest of the slice was
	Detail    []byte        // JSON: token, page, bytes
}

// PendingReslice is a request whose attempt has ended, with what cutting takes.
type PendingReslice struct {
	ID        int64
	Lineage   Lineage // of the slice to be replaced, up to the run
	Partition Partition
	PlanKey   string
	Spec      []byte // the plan's snapshot
	SliceSpec []byte
	Params    []byte // of the slice's task
	Priority  int
	PlannedIn string // as the slice's task has it
	Slice     window.Window
	Remaining window.Window
	Reason    fault.Code
	Detail    []byte
}

// WindowCount is what a slice that was read to its end really had.
type WindowCount struct {
	Window         window.Window
	Estimated      *int64 // nil: not estimated
	EstimateSource string
	Actual         int64 // items whose stamp lies in the window
	Requests       int64
	Bytes          int64
	AsOf           time.Time
	RunID          int64
}

// WindowsWanted says which slices of the past somebody wants to know.
type WindowsWanted struct {
	Dataset  Dataset
	Question string // the hash of what was asked for, without a window in it
	Within   window.Window
}

// EstimateFrom returns how many items history lets us expect in the part of w
// that it covers, and which share of w that is; 0 and 0 if it knows nothing.
// Where records overlap, the newest counts. One that lies only partly in w
// counts by its length. Nothing is made up for the part that is not covered.
func EstimateFrom(history []WindowCount, w window.Window) (count int64, covered float64) {
	return NewCounts(history).Estimate(w)
}

// Counts is a history prepared for many estimates: disjoint ranges, sorted.
type Counts struct{ ranges []countedRange }

// counted is a record in microseconds.
type counted struct {
	from, to, count int64
	asOf            time.Time
	run             int64
}

// countedRange is the part of a record that no newer one hides.
type countedRange struct {
	counted
	visible struct{ from, to int64 }
}

// NewCounts finds the newest record over every instant, in one sweep.
func NewCounts(history []WindowCount) (c Counts) {
	var waiting []counted
	var edges []int64
	for _, h := range history {
		if h.Window.Empty() {
			continue
		}
		r := counted{h.Window.From.UnixMicro(), h.Window.To.UnixMicro(), h.Actual, h.AsOf, h.RunID}
		waiting, edges = append(waiting, r), append(edges, r.from, r.to)
	}
	slices.SortFunc(waiting, func(a, b counted) int { return cmp.Compare(a.from, b.from) })
	if areApart(waiting) { // nothing hides anything
		c.ranges = make([]countedRange, len(waiting))
		for i, r := range waiting {
			c.ranges[i].counted = r
			c.ranges[i].visible.from, c.ranges[i].visible.to = r.from, r.to
		}
		return c
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	var open newestFirst
	for i, at := range edges {
		for len(waiting) > 0 && waiting[0].from == at {
			heap.Push(&open, waiting[0])
			waiting = waiting[1:]
		}
		for len(open) > 0 && open[0].to <= at {
			heap.Pop(&open)
		}
		if len(open) > 0 {
			c.extend(open[0], at, edges[i+1]) // an open record has a later edge
		}
	}
	return c
}

// areApart reports whether no two of some records, in the order of their beginnings, overlap.
func areApart(sorted []counted) bool {
	for i := 1; i < len(sorted); i++ {
		if sorted[i].from < sorted[i-1].to {
			return false
		}
	}
	return true
}

// extend shows more of a record, as one range where it goes on.
func (c *Counts) extend(r counted, from, to int64) {
	if n := len(c.ranges); n > 0 && c.ranges[n-1].counted == r && c.ranges[n-1].visible.to == from {
		c.ranges[n-1].visible.to = to
		return
	}
	s := countedRange{counted: r}
	s.visible.from, s.visible.to = from, to
	c.ranges = append(c.ranges, s)
}

// Estimate does what EstimateFrom does for this history.
func (c Counts) Estimate(w window.Window) (count int64, covered float64) {
	if w.Empty() {
		return 0, 0
	}
	from, to := w.From.UnixMicro(), w.To.UnixMicro()
	first := sort.Search(len(c.ranges), func(i int) bool { return c.ranges[i].visible.to > from })
	var length int64
	var parts float64
	for _, s := range c.ranges[first:] {
		if s.visible.from >= to {
			break
		}
		shared := min(s.visible.to, to) - max(s.visible.from, from)
		length += shared
		if shared == s.to-s.from {
			count += s.count // whole records add up exactly
		} else {
			parts += float64(s.count) * (float64(shared) / float64(s.to-s.from))
		}
	}
	return count + int64(math.Round(parts)), float64(length) / float64(to-from)
}

// newestFirst is a heap of records. Equal as-ofs are told apart, so that the
// order of a history does not matter.
type newestFirst []counted

func (h newestFirst) Len() int { return len(h) }

func (h newestFirst) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(b.asOf.Compare(a.asOf), cmp.Compare(b.run, a.run), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.count, b.count)) < 0
}

func (h newestFirst) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *newestFirst) Push(r any) { *h = append(*h, r.(counted)) }

func (h *newestFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
