package query

import (
	"math/big"
	"time"
)

// fit says how the range that an upstream is told compares with the one meant.
type fit int

const (
	exact fit = iota
	wider
	narrower
)

// rangeBounds returns the texts of a range for a rule. What stands for a missing
// bound only the rule can say: empty text makes another query of most templates.
func (w *writer) rangeBounds(a Atom, at position, r *compiledRule) (from, to string, ok bool) {
	var told fit
	if a.Range.Type == RangeNumber {
		from, to, told = a.Range.numberBounds(r.Bounds, w.program.config.Fields[a.Field].Whole)
	} else {
		from, to, told = w.rangeCalendar(a, r).boundTexts(a.Range)
	}
	for _, end := range []struct{ name, text string }{{"from", from}, {"to", to}} {
		if end.text != "" && !r.readsAny(end.name) {
			w.addFinding("E-RANGE-BOUND-UNUSED", at.path, a.Field, "rules.%s does not use ${%s}, so this bound of %s would be lost", r.name, end.name, a)
			return "", "", false
		}
	}
	if from, ok = w.openEnd(a, at, r, from, "from", r.OpenFrom); !ok {
		return "", "", false
	}
	if to, ok = w.openEnd(a, at, r, to, "to", r.OpenTo); !ok {
		return "", "", false
	}
	switch {
	case told == exact:
	case told == narrower || at.odd:
		w.addFinding("E-RANGE-INEXACT", at.path, a.Field, "the upstream cannot name the bounds of %s exactly, and items would be lost", a)
		return "", "", false
	case !w.program.checker.isWindow(a): // what comes beyond the window belongs to its neighbours, what comes beyond another range does not
		w.addFinding("W-RANGE-WIDENED", at.path, a.Field, "the upstream cannot name the bounds of %s exactly and selects from %q to %q", a, from, to)
	}
	return from, to, true
}

// openEnd puts the rule's own text where a range has no bound.
func (w *writer) openEnd(a Atom, at position, r *compiledRule, text, name string, open *string) (string, bool) {
	if text != "" || !r.readsAny(name) {
		return text, true
	}
	if open != nil {
		return *open, true
	}
	code, end, key := "E-RANGE-OPEN-START", "lower", "openFrom"
	if name == "to" {
		code, end, key = "E-RANGE-OPEN-END", "upper", "openTo"
	}
	w.addFinding(code, joinPath(at.path, "value."+name), a.Field, "rules.%s does not say how a range without %s bound is written, as in %s: give the bound, or set rules.%s.%s to what stands for it, such as *", r.name, end, a, r.name, key)
	return "", false
}

// rangeCalendar returns how the upstream reads the bounds: the date filter knows for
// its own field, the rule for others.
func (w *writer) rangeCalendar(a Atom, r *compiledRule) Calendar {
	if w.program.checker.isWindow(a) {
		return *w.program.window
	}
	f := DateFilter{Precision: r.precisionOf(a.Range.Type), Format: r.Format}
	if r.Bounds == HalfOpenBounds {
		f.To = Exclusive
	}
	return Calendar{f.WithDefaults(), time.UTC}
}

// boundTexts returns the bounds to send for a range, and how they fit. Dates are
// compared with local dates, whatever the zone.
func (c Calendar) boundTexts(r Interval) (from, to string, told fit) {
	w, dated := r.instantWindow()
	if dated {
		c.zone = time.UTC
	}
	low, high := c.Bounds(w)
	selected := c.Selected(w)
	if r.From != "" {
		from = c.Text(low)
		if !selected.From.Equal(w.From) {
			told = wider
		}
	}
	if r.To != "" {
		to = c.Text(high)
		if !selected.To.Equal(w.To) {
			told = wider
		}
	}
	return from, to, told
}

// numberBounds writes an open bound as a closed one, and the other way round, where
// only whole numbers occur. Elsewhere a bound has no neighbour.
func (r Interval) numberBounds(b Bounds, whole bool) (from, to string, told fit) {
	from, to = plainDecimal(r.From), plainDecimal(r.To)
	if from != "" && r.FromBoundary == Open {
		if told = wider; whole {
			from, told = wholeAbove(from), exact
		}
	}
	switch {
	case to == "":
	case b == HalfOpenBounds && r.ToBoundary == Closed:
		if !whole {
			return from, to, narrower
		}
		to = wholeAbove(to)
	case b != HalfOpenBounds && r.ToBoundary == Open:
		if !whole {
			return from, to, wider
		}
		to = wholeBelow(to)
	}
	return from, to, told
}

// wholeAbove returns the smallest whole number above a decimal.
func wholeAbove(text string) string {
	n := floorOf(text)
	return n.Add(n, big.NewInt(1)).String()
}

// wholeBelow returns the largest whole number below a decimal.
func wholeBelow(text string) string {
	n := floorOf(text)
	if x, _ := new(big.Rat).SetString(text); x.IsInt() {
		n.Sub(n, big.NewInt(1))
	}
	return n.String()
}

func floorOf(text string) *big.Int {
	x, _ := new(big.Rat).SetString(text) // Valid has read it
	return new(big.Int).Div(x.Num(), x.Denom())
}
