package slicing

import "github.com/patra-ingest/patra/internal/core/window"

// piece is a slice in the making with what is believed about it.
type piece struct {
	owned  window.Window
	belief belief
	capped bool
}

// belief is an estimate. One that was told is about this very window; the
// others are a wider window's spread evenly, good for a forecast but not for
// joining a piece with its neighbour.
type belief struct {
	Estimate
	told bool
}

// adapter fits the linear cut of one owed window to its contents (S§5.3).
//
// It asks from wide to narrow, at most window.maxWindow at a time: a month that
// holds nothing costs one question instead of thirty, and where a whole
// fits, its parts need no question at all.
type adapter struct {
	Request
	most   int64
	reach  window.Window // the owed window and what its overlap may reach
	out    []piece
	wanted []window.Window
	stats  Stats
	over   bool // there are more slices than a plan may have
}

func (a *adapter) adaptSteps(steps []window.Window) []piece {
	a.stats.Linear = len(steps)
	a.out = make([]piece, 0, len(steps))
	for len(steps) > 0 {
		n := 1
		for n < len(steps) && !a.OneUnit && !a.tooWide(spanOf(steps[:n+1])) {
			n++
		}
		b, quiet := a.askEstimate(steps[:n], belief{}, a.Estimates == nil)
		a.adaptNode(steps[:n], b, quiet)
		steps = steps[n:]
	}
	return a.mergeTiny(a.out)
}

func spanOf(steps []window.Window) window.Window {
	return window.Window{From: steps[0].From, To: steps[len(steps)-1].To}
}

// askedWindow returns what the upstream is asked for: the owned window with the
// overlap, but never more than what the plan owes (S§5.4).
func (a *adapter) askedWindow(owned window.Window) window.Window {
	delta := a.Config.Overlap.Std()
	if delta == 0 {
		return owned
	}
	return window.Window{From: owned.From.Add(-delta), To: owned.To.Add(delta)}.Intersect(a.reach)
}

// adaptNode works on several steps at once until it pays to look at each.
func (a *adapter) adaptNode(steps []window.Window, b belief, quiet bool) {
	if len(steps) == 1 {
		a.adaptLeaf(steps[0], b, quiet)
		return
	}
	tiny := a.isTiny(b.Count / int64(len(steps)))
	switch {
	case b.isUnknown() || b.Count > a.most:
	case !tiny:
		quiet = true // no part of it can be over a limit, and few would be merged
	case a.withinTarget(b.Count) && (b.told || b.Source == FromConstant):
		a.stats.Merged += len(steps) - 1
		a.out = append(a.out, piece{owned: spanOf(steps), belief: b})
		return
	}
	left, right := steps[:len(steps)/2], steps[len(steps)/2:]
	lb, rb, lq, rq := a.estimateHalves(left, right, b, quiet)
	a.adaptNode(left, lb, lq)
	a.adaptNode(right, rb, rq)
}

// adaptLeaf bisects one step while it is expected to hold too much (S§5.3, D§5.12).
func (a *adapter) adaptLeaf(w window.Window, b belief, quiet bool) {
	if a.over = a.over || len(a.out) >= MaxSlices; a.over {
		return // the plan is refused
	}
	if b.isUnknown() || b.Count <= a.most || a.Whole {
		a.out = append(a.out, piece{owned: w, belief: b})
		return
	}
	before, after, ok := a.bisectWindow(w)
	if !ok {
		// Only a counted excess condemns a slice; a guess is left to the run, and so is a
		// slice that can be cut by something else than time.
		p := piece{owned: w, belief: b, capped: a.Cap > 0 && b.Count > a.Cap && b.told && b.Exact && a.Config.Second == nil}
		if p.capped {
			a.stats.Capped++
		}
		a.out = append(a.out, p)
		return
	}
	a.stats.Bisected++
	lb, rb, lq, rq := a.estimateHalves([]window.Window{before}, []window.Window{after}, b, quiet)
	a.adaptLeaf(before, lb, lq)
	a.adaptLeaf(after, rb, rq)
}

// estimateHalves finds out about both halves of a window. If the whole was counted,
// one half is enough: the other holds the difference. With an overlap it does
// not, the halves share items.
func (a *adapter) estimateHalves(left, right []window.Window, b belief, quiet bool) (lb, rb belief, lq, rq bool) {
	whole := window.Window{From: left[0].From, To: right[len(right)-1].To}
	lb, lq = a.askEstimate(left, belief{Estimate: b.Share(spanOf(left), whole)}, quiet)
	counted := b.told && b.Exact && a.Config.Overlap == 0
	rest := belief{Estimate: b.Share(spanOf(right), whole)}
	switch {
	case counted && !lb.told:
		rb, rq = a.askEstimate(right, rest, true) // the answer for the left half will do
	case counted && lb.Exact && lb.Count <= b.Count:
		if rb, rq = a.lookUp(right); !rb.told {
			rb = belief{Estimate{b.Count - lb.Count, b.Source, true}, true}
		}
		rq = rq || quiet
	default:
		rb, rq = a.askEstimate(right, rest, quiet)
	}
	return lb, rb, lq, rq
}

// askEstimate looks a window up. If its size is unknown, the window is wanted and the
// search goes on with what is assumed; nothing within it is wanted before it is
// answered.
func (a *adapter) askEstimate(steps []window.Window, assumed belief, quiet bool) (belief, bool) {
	if b, assumption := a.lookUp(steps); b.told {
		return b, quiet || assumption
	}
	w := a.askedWindow(spanOf(steps))
	if !quiet && !a.alreadyWanted(w) {
		a.wanted = append(a.wanted, w)
	}
	if assumed.isUnknown() {
		assumed.Estimate, _ = a.Config.Assume(w)
	}
	return assumed, true
}

// alreadyWanted reports whether a window was asked for by the neighbour. With a long
// overlap, neighbours ask for the same window, which is all that is owed. They follow
// each other, so it is enough to compare with the last one.
func (a *adapter) alreadyWanted(w window.Window) bool {
	return len(a.wanted) > 0 && a.wanted[len(a.wanted)-1] == w
}

// lookUp returns what the caller knows of a window, or of all its steps. A constant
// says no more about the parts than about the whole: there is no use in asking on.
func (a *adapter) lookUp(steps []window.Window) (b belief, assumption bool) {
	if a.Estimates == nil {
		return belief{}, true
	}
	if e, ok := a.Estimates(a.askedWindow(spanOf(steps))); ok {
		return belief{e, true}, e.Source == FromConstant
	}
	if len(steps) == 1 {
		return belief{}, false
	}
	sum := belief{told: true}
	for i, step := range steps {
		e, ok := a.Estimates(a.askedWindow(step))
		if !ok {
			return belief{}, false
		}
		if i == 0 {
			sum.Estimate = Estimate{Source: e.Source, Exact: a.Config.Overlap == 0}
		}
		sum.Estimate = sum.addEstimate(e)
	}
	return sum, sum.Source == FromConstant
}
