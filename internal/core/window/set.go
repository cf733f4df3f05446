package window

import "slices"

// Union returns the same set of instants as sorted windows that neither overlap nor abut. Empty windows
// vanish.
func Union(ws []Window) []Window {
	if areApart(ws) {
		return slices.Clone(ws)
	}
	sorted := slices.DeleteFunc(slices.Clone(ws), Window.Empty)
	slices.SortFunc(sorted, func(a, b Window) int { return a.From.Compare(b.From) })
	var merged []Window
	for _, w := range sorted {
		if n := len(merged); n > 0 && !merged[n-1].To.Before(w.From) {
			merged[n-1].To = Later(merged[n-1].To, w.To)
			continue
		}
		merged = append(merged, w)
	}
	return merged
}

func areApart(ws []Window) bool {
	for i, w := range ws {
		if w.Empty() || i > 0 && !ws[i-1].To.Before(w.From) {
			return false
		}
	}
	return true
}

// Subtract returns what remains of w without the holes, sorted. Holes may come in any order and overlap.
func Subtract(w Window, holes []Window) []Window {
	var rest []Window
	at := w.From
	for _, hole := range Union(holes) {
		if hole.From.After(w.To) {
			break
		}
		if part := (Window{From: at, To: Earlier(hole.From, w.To)}); !part.Empty() {
			rest = append(rest, part)
		}
		at = Later(at, hole.To)
	}
	if part := (Window{From: at, To: w.To}); !part.Empty() {
		rest = append(rest, part)
	}
	return rest
}

// Within returns the part of the set ws that lies in w, sorted and merged.
func Within(w Window, ws []Window) []Window {
	var parts []Window
	for _, part := range Union(ws) {
		if shared := part.Intersect(w); !shared.Empty() {
			parts = append(parts, shared)
		}
	}
	return parts
}

// AllWithin reports whether other windows together hold every one of some.
func AllWithin(ws, within []Window) bool {
	for _, w := range ws {
		if len(Subtract(w, within)) > 0 {
			return false
		}
	}
	return true
}
