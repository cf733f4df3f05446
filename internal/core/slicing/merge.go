package slicing

import "github.com/patra-ingest/patra/internal/core/window"

// mergeTiny joins neighbours of which one is tiny (S§5.3). All pieces are of one
// owed window: what lies between two of them is settled and not asked for.
func (a *adapter) mergeTiny(pieces []piece) []piece {
	out := pieces[:0]
	for _, p := range pieces {
		if n := len(out); n > 0 && a.canJoin(out[n-1], p) {
			out[n-1].owned.To = p.owned.To
			out[n-1].belief.Estimate = out[n-1].belief.addEstimate(p.belief.Estimate)
			a.stats.Merged++
			continue
		}
		out = append(out, p)
	}
	return out
}

func (a *adapter) canJoin(left, right piece) bool {
	l, r := left.belief, right.belief
	return !a.OneUnit && l.told && r.told && (a.isTiny(l.Count) || a.isTiny(r.Count)) && a.withinTarget(l.Count+r.Count) &&
		!a.tooWide(window.Window{From: left.owned.From, To: right.owned.To})
}

func (a *adapter) isTiny(count int64) bool {
	return float64(count) < float64(a.Config.TargetRecords)*a.Config.MergeBelow
}

// withinTarget reports whether merged slices stay within the target itself, without
// the tolerance.
func (a *adapter) withinTarget(count int64) bool {
	return count <= int64(a.Config.TargetRecords) && count <= a.most
}

// addEstimate adds up two windows. The sum is worth what the weaker part is worth.
func (e Estimate) addEstimate(o Estimate) Estimate {
	return Estimate{Count: e.Count + o.Count, Source: weakerSource(e.Source, o.Source), Exact: e.Exact && o.Exact}
}

func weakerSource(a, b Source) Source {
	if sourceRank(b) > sourceRank(a) {
		return b
	}
	return a
}

// sourceRank returns the place in the order of S§5.3; not to know is the weakest.
func sourceRank(s Source) int {
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
