package sector

import (
	"maps"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Lag is a range of time that one sector still owes while sectors without one have been read there. There is none for a
// range that is owed by all.
type Lag struct {
	Sector string
	Window window.Window
	AsOf   time.Time // as of when the others were read
	Waived bool      // somebody accepted that it is not read
	Ready  bool      // the sector answered since it failed last: all that it owes may be asked for
	Looked time.Time // when it was asked for last, and failed; zero: not since the others were read
}

// MostLags is how many sectors may lag in one range. Where more are behind, all of them are asked again: the list of those
// that are not would be the shorter one.
const MostLags = 1000

// Lagging returns who lags in ranges that were lost, of the slices that share them: those that were not read. It returns
// none where all of the sectors were lost, or too many to keep. A parent that failed in a run that was read (Named) is not
// one of the sectors of a plan.
func Lagging(lost []window.Window, all []Slice, sectors int, asOf time.Time) (out []Lag) {
	for _, w := range lost {
		var behind []Lag
		names, whole := map[string]bool{}, map[string]bool{}
		for _, s := range all {
			if part := s.Window.Intersect(w); s.State == Lost && !part.Empty() {
				behind = append(behind, Lag{Sector: s.Sector, Window: part, AsOf: asOf})
				names[s.Sector] = true
				if !s.Named {
					whole[s.Sector] = true
				}
			}
		}
		if len(whole) < sectors && len(names) <= MostLags {
			out = append(out, behind...)
		}
	}
	return out
}

// Without returns lags less some ranges of time.
func Without(lags []Lag, gone []window.Window) (out []Lag) {
	for _, l := range lags {
		for _, left := range window.Subtract(l.Window, gone) {
			part := l
			part.Window = left
			out = append(out, part)
		}
	}
	return out
}

// Piece is a range of time in which the same sectors lag.
type Piece struct {
	Window  window.Window
	Missing []string  // who lags there, sorted
	Waived  []string  // of whom somebody accepted it, sorted
	AsOf    time.Time // as of when all others were read: the earliest
}

// Pieces cuts what lags within ranges of time at every change. Where nobody lags there is no piece.
func Pieces(within []window.Window, lags []Lag) (out []Piece) {
	var edges []time.Time
	for _, l := range lags {
		edges = append(edges, l.Window.From, l.Window.To)
	}
	for _, w := range within {
		edges = append(edges, w.From, w.To)
	}
	slices.SortFunc(edges, time.Time.Compare)
	edges = slices.CompactFunc(edges, time.Time.Equal)
	sorted := slices.SortedFunc(slices.Values(lags), func(a, b Lag) int { return a.Window.From.Compare(b.Window.From) })
	meant := window.Union(within)
	var here []Lag
	for i := 0; i+1 < len(edges); i++ {
		at := window.Window{From: edges[i], To: edges[i+1]}
		here = slices.DeleteFunc(here, func(l Lag) bool { return !l.Window.To.After(at.From) })
		for len(sorted) > 0 && !sorted[0].Window.From.After(at.From) {
			here, sorted = append(here, sorted[0]), sorted[1:]
		}
		for len(meant) > 0 && !meant[0].To.After(at.From) {
			meant = meant[1:]
		}
		if len(here) > 0 && len(meant) > 0 && meant[0].Contains(at.From) {
			out = addPiece(out, pieceOf(at, here))
		}
	}
	return out
}

// pieceOf tells who lags in a range.
func pieceOf(at window.Window, here []Lag) Piece {
	p := Piece{Window: at}
	for _, l := range here {
		if l.Waived {
			p.Waived = append(p.Waived, l.Sector)
		} else {
			p.Missing = append(p.Missing, l.Sector)
		}
		if p.AsOf.IsZero() || l.AsOf.Before(p.AsOf) {
			p.AsOf = l.AsOf
		}
	}
	slices.Sort(p.Missing)
	slices.Sort(p.Waived)
	p.Missing = slices.Compact(p.Missing)
	p.Waived = slices.DeleteFunc(slices.Compact(p.Waived), func(name string) bool { return slices.Contains(p.Missing, name) })
	return p
}

// addPiece makes one of neighbours that say the same.
func addPiece(out []Piece, p Piece) []Piece {
	if n := len(out); n > 0 && out[n-1].Window.To.Equal(p.Window.From) && out[n-1].AsOf.Equal(p.AsOf) &&
		slices.Equal(out[n-1].Missing, p.Missing) && slices.Equal(out[n-1].Waived, p.Waived) {
		out[n-1].Window.To = p.Window.To
		return out
	}
	return append(out, p)
}

// Narrow is a window that a plan reads for a few sectors: for all others it has been read.
type Narrow struct {
	Window window.Window `json:"window"`
	Only   []string      `json:"only"`
}

// Narrowed returns which windows of those that are owed have to be read for a few sectors only. It takes a window only if
// it was settled when the other sectors were read: no later reading would have been wanted there, so that the window may
// count as read when those few are (D§5.26). What is younger than the lookback is read for all again, and so is what somebody
// lags in whom the list does not have: nobody could be asked for it.
func Narrowed(owed []window.Window, lags []Lag, all All, lookback time.Duration) (out []Narrow) {
	known := make(map[string]bool, len(all.List))
	for _, s := range all.List {
		known[s.Name] = true
	}
	unknown := func(name string) bool {
		_, found := all.parse(name)
		return !known[name] && !found
	}
	for _, p := range Pieces(owed, lags) {
		settled, _ := p.Window.Split(p.AsOf.Add(-max(0, lookback)))
		if len(p.Missing) > 0 && !settled.Empty() && !slices.ContainsFunc(p.Missing, unknown) && !slices.ContainsFunc(p.Waived, unknown) {
			out = append(out, Narrow{settled, p.Missing})
		}
	}
	return out
}

// Outside returns what of the windows that a few sectors owe lies outside of others. Neighbours that the same sectors owe are one.
func Outside(narrowed []Narrow, of []window.Window) (out []Narrow) {
	for _, n := range narrowed {
		for _, w := range window.Subtract(n.Window, of) {
			if last := len(out) - 1; last >= 0 && out[last].Window.To.Equal(w.From) && slices.Equal(out[last].Only, n.Only) {
				out[last].Window.To = w.To
				continue
			}
			out = append(out, Narrow{w, n.Only})
		}
	}
	return out
}

// All are the sectors that every window of a plan is read for. Where they are runs of parents, one parent and another
// division into runs can be asked for as well.
type All struct {
	List []Sector
	Of   map[string]Config // where parts come from stored records; nil: the list is all there is
}

// parse returns a sector that is not in the list.
func (a All) parse(name string) (Sector, bool) {
	if a.Of == nil {
		return Sector{}, false
	}
	return Parse(a.Of, name)
}

// Named returns the sectors with some names, those of the list in its order.
func (a All) Named(names []string) (out []Sector) {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	for _, s := range a.List {
		if wanted[s.Name] {
			out = append(out, s)
			delete(wanted, s.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if s, found := a.parse(name); found {
			out = append(out, s)
		}
	}
	return out
}

// OwedByFew returns what of the windows of a plan it reads for a sector among a few.
func OwedByFew(name string, owed []window.Window, narrowed []Narrow) (out []window.Window) {
	for _, n := range narrowed {
		if slices.Contains(n.Only, name) {
			out = append(out, window.Within(n.Window, owed)...)
		}
	}
	return out
}

// OwedByAll returns what of the windows of a plan it reads for all sectors of its list.
func OwedByAll(owed []window.Window, narrowed []Narrow) (out []window.Window) {
	few := make([]window.Window, len(narrowed))
	for i, n := range narrowed {
		few[i] = n.Window
	}
	for _, w := range owed {
		out = append(out, window.Subtract(w, few)...)
	}
	return out
}

// Asked returns the sectors that a plan reads something for: those of the list, if a window is read for all, and those that
// read some windows alone.
func Asked(all All, owed []window.Window, narrowed []Narrow) (listed, few []Sector) {
	if len(OwedByAll(owed, narrowed)) > 0 {
		listed = all.List
	}
	var names []string
	for _, n := range narrowed {
		names = append(names, n.Only...)
	}
	return listed, all.Named(names)
}
