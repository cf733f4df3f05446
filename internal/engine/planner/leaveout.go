package planner

import (
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// leaveOut takes from a harvest what it need not ask for now: sectors that the upstream refuses, before their time has come, and
// all but one of many windows of a sector that did not answer since it failed. What it leaves out stays owed (decision 157).
// Windows that a person named are asked for as they were named, but not of what is refused.
func leaveOut(s spec.Snapshot, b Inputs, r Request, total window.Total, narrowed []sector.Narrow) (window.Total, []sector.Narrow, sector.LeftOut, error) {
	if !s.NarrowsSectors() || !traitsOf(s.Operation).followsPresent || len(narrowed)+len(b.Refused) == 0 {
		return total, narrowed, sector.LeftOut{}, nil
	}
	held := b.heldSectors(r)
	lags := b.Lags
	if r.Only != nil {
		lags = slices.Clone(lags)
		for i := range lags {
			lags[i].Ready = true
		}
	}
	chosen, looked, err := sector.Choose(narrowed, lags, held, cutsOf(s))
	if err != nil {
		return total, nil, sector.LeftOut{}, err
	}
	all := sector.OwedByAll(total.Owed, narrowed)
	wait := withoutChosen(total.Owed, narrowed, chosen)
	total.Waiting = window.Union(slices.Concat(total.Waiting, wait))
	var owed []window.Window
	for _, w := range total.Owed {
		owed = append(owed, window.Subtract(w, wait)...)
	}
	if total.Owed = owed; len(owed) == 0 && len(wait) > 0 && !total.Empty {
		total.Empty, total.Reason = true, fmt.Sprintf("what is owed is missing for partitions that the upstream refuses, and they are not asked for again yet: patra coverage gaps %s", s.Source)
	}
	if len(all) == 0 { // it may still read runs of parents among a few
		return total, chosen, sector.LeftOut{Parents: sector.Leave(s.AllSectors(b.runs()), b.Refused, held, looked).Parents}, nil
	}
	return total, chosen, sector.Leave(s.AllSectors(b.runs()), b.Refused, held, looked), nil
}

// heldSectors tells of each sector how much of it may be asked for.
func (b Inputs) heldSectors(r Request) func(string) sector.Hold {
	held := make(map[string]sector.Hold, len(b.Refused))
	for _, one := range b.Refused {
		if held[one.Sector] = sector.Wait; one.Due(r.Now, b.CauseChanged) {
			held[one.Sector] = sector.Look
		}
	}
	return func(name string) sector.Hold { return held[name] }
}

// cutsOf tells how a harvest cuts a window.
func cutsOf(s spec.Snapshot) func(window.Window) ([]window.Window, error) {
	return func(w window.Window) (out []window.Window, err error) {
		result, err := slicing.Plan(slicingRequest(s, []window.Window{w}))
		for _, cut := range result.Slices {
			out = append(out, cut.Window)
		}
		return out, err
	}
}

// withoutChosen returns what of the windows that a few sectors owe is asked for of none.
func withoutChosen(owed []window.Window, narrowed, chosen []sector.Narrow) (out []window.Window) {
	asked := make([]window.Window, len(chosen))
	for i, n := range chosen {
		asked[i] = n.Window
	}
	for _, n := range narrowed {
		for _, w := range window.Within(n.Window, owed) {
			out = append(out, window.Subtract(w, asked)...)
		}
	}
	return window.Union(out)
}
