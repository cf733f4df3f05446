package sector

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Hold is how much of what a sector owes may be asked for.
type Hold int

// How a sector is held.
const (
	Free Hold = iota // by what it owes
	Look             // one window, to learn whether it is still refused
	Wait             // nothing: it was refused, and its time has not come
)

// fewWindows is how many windows a sector that failed may owe to be asked for all of them. One that owes more is asked for
// one: a sector that fails for weeks would cost a task for each of its windows in every plan.
const fewWindows = 3

// candidate is one window that a sector could be asked for.
type candidate struct {
	piece  int // of those that are narrowed
	window window.Window
	ready  bool
	looked time.Time
}

// Choose returns what of the windows that only a few sectors owe is asked for now, and which sectors have one there to look at.
// A sector that owes many windows and has not answered since it failed is asked for one of them, the one that was asked for
// longest ago: a window that fails for ever must not hide that others would be answered. The rest waits for the next plan.
// cut tells how a window is cut into slices.
func Choose(narrowed []Narrow, lags []Lag, held func(name string) Hold, cut func(window.Window) ([]window.Window, error)) (out []Narrow, looked map[string]bool, err error) {
	owed := map[string][]candidate{}
	of := map[string][]Lag{}
	for _, l := range lags {
		of[l.Sector] = append(of[l.Sector], l)
	}
	for i, n := range narrowed {
		parts, err := cut(n.Window)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range n.Only {
			for _, w := range parts {
				owed[name] = append(owed[name], newCandidate(i, w, of[name]))
			}
		}
	}
	chosen := make([][]Lag, len(narrowed))
	looked = map[string]bool{}
	for name, all := range owed {
		for _, c := range chooseOf(all, held(name)) {
			chosen[c.piece] = append(chosen[c.piece], Lag{Sector: name, Window: c.window})
			looked[name] = true
		}
	}
	for i, n := range narrowed {
		for _, p := range Pieces([]window.Window{n.Window}, chosen[i]) {
			out = append(out, Narrow{p.Window, p.Missing})
		}
	}
	return out, looked, nil
}

// newCandidate tells how a sector stands with a window that it owes.
func newCandidate(piece int, w window.Window, lags []Lag) candidate {
	c := candidate{piece: piece, window: w, ready: true}
	for _, l := range lags {
		if l.Window.Overlaps(w) {
			c.ready, c.looked = c.ready && l.Ready, window.Later(c.looked, l.Looked)
		}
	}
	return c
}

// chooseOf returns which of the windows that a sector owes are asked for.
func chooseOf(all []candidate, held Hold) []candidate {
	if held == Wait {
		return nil
	}
	var ready, others []candidate
	for _, c := range all {
		if c.ready && held == Free {
			ready = append(ready, c)
		} else {
			others = append(others, c)
		}
	}
	if held == Free && len(others) <= fewWindows || len(others) == 0 {
		return all
	}
	first := slices.MinFunc(others, func(a, b candidate) int {
		if n := a.looked.Compare(b.looked); n != 0 {
			return n
		}
		return a.window.From.Compare(b.window.From)
	})
	return append(ready, first)
}

// LeftOut are sectors that a plan does not ask for, where it asks for all others, because the upstream refuses them. They lag
// there when the others are read.
type LeftOut struct {
	Sectors []string `json:"sectors,omitempty"` // of the list: they have no slices
	Parents []string `json:"parents,omitempty"` // whoever reads a run of parents passes over them
}

// IsZero reports whether nothing is left out.
func (l LeftOut) IsZero() bool { return len(l.Sectors)+len(l.Parents) == 0 }

// Less returns sectors without those that are left out.
func (l LeftOut) Less(sectors []Sector) []Sector {
	if len(l.Sectors) == 0 {
		return sectors
	}
	return slices.DeleteFunc(slices.Clone(sectors), func(s Sector) bool { return slices.Contains(l.Sectors, s.Name) })
}

// Lost returns how what is left out stands with a window: not read. Whoever reads a run of parents says so of those.
func (l LeftOut) Lost(w window.Window) (out []Slice) {
	for _, name := range l.Sectors {
		out = append(out, Slice{Sector: name, Window: w, State: Lost, Left: true})
	}
	return out
}

// Leave returns which refused sectors a plan leaves out where it asks for all others: those whose time has not come, and those
// that are looked at elsewhere. It never leaves out all of a list.
func Leave(all All, refused []Refusal, held func(string) Hold, looked map[string]bool) (out LeftOut) {
	listed := make(map[string]bool, len(all.List))
	for _, s := range all.List {
		listed[s.Name] = true
	}
	for _, r := range refused {
		if held(r.Sector) != Wait && !looked[r.Sector] {
			continue
		}
		if listed[r.Sector] {
			out.Sectors = append(out.Sectors, r.Sector)
		} else if _, known := all.parse(r.Sector); known {
			out.Parents = append(out.Parents, r.Sector)
		}
	}
	if len(out.Sectors) >= len(all.List) {
		out.Sectors = nil
	}
	return out
}
