package slicing

import "github.com/patra-ingest/patra/internal/core/window"

// merge joins neighbours of which one is tiny (S§5.3). All pieces are of one
// owed window: what lies between two of them is settled and not asked for.
func (a *adapter) merge(pieces []piece) []piece {
	out := pieces[:0]
	for _, p := range pieces {
		if n := len(out); n > 0 && a.joinable(out[n-1], p) {
			out[n-1].owned.To = p.owned.To
			out[n-1].belief.Estimate = out[n-1].belief.plus(p.belief.Estimate)
			a.stats.Merged++
			continue
		}
		out = append(out, p)
	}
	return out
}

func (a *adapter) joinable(left, right piece) bool {
	l, r := left.belief, right.belief
	return !a.OneUnit && l.told && r.told && (a.tiny(l.Count) || a.tiny(r.Count)) && a.within(l.Count+r.Count) &&
		!a.tooWide(window.Window{From: left.owned.From, To: right.owned.To})
}

func (a *adapter) tiny(count int64) bool {
	return float64(count) < float64(a.Config.TargetRecords)*a.Config.MergeBelow
}

// within: a merge keeps to the target itself, without the tolerance.
func (a *adapter) within(count int64) bool {
	return count <= int64(a.Config.TargetRecords) && count <= a.most
}

// plus adds up two windows. The sum is worth what the weaker part is worth.
func (e Estimate) plus(o Estimate) Estimate {
	return Estimate{Count: e.Count + o.Count, Source: weaker(e.Source, o.Source), Exact: e.Exact && o.Exact}
}

func weaker(a, b Source) Source {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// rank is the place in the order of S§5.3; not to know is the weakest.
func rank(s Source) int {
	switch s {
	case FromCount:
		return 0
	case FromHistory:
		return 1
	case FromFirstPage:
		return 2
	case FromConstant:
		return 3
	}
	return 4
}
