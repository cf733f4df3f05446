package slicing

import (
	"math/bits"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Source is where an estimate comes from.
type Source string

// Sources of S§5.3, the best first.
const (
	FromCount     Source = "COUNT"      // the upstream counted; for ids we did
	FromHistory   Source = "HISTORY"    // like windows held so many
	FromFirstPage Source = "FIRST_PAGE" // the first page told
	FromConstant  Source = "CONSTANT"   // an assumption
)

// Estimate is how many items a window is believed to hold.
type Estimate struct {
	Count  int64  `json:"count"`
	Source Source `json:"source"`
	Exact  bool   `json:"exact"` // the upstream's own number, not an extrapolation
}

func (e Estimate) isUnknown() bool { return e.Source == "" }

// Share returns the part of an estimate that falls to a part of its window if
// items were spread evenly. Whole numbers only: a float would not be the same
// on every platform.
func (e Estimate) Share(part, whole window.Window) Estimate {
	if e.isUnknown() || whole.Duration() == 0 {
		return Estimate{}
	}
	high, low := bits.Mul64(uint64(max(e.Count, 0)), uint64(min(part.Duration(), whole.Duration())))
	count, rest := bits.Div64(high, low, uint64(whole.Duration()))
	if rest > 0 {
		count++
	}
	return Estimate{Count: int64(count), Source: e.Source}
}

// Assume returns the estimate of last resort: the declared items per day (S§5.3
// D).
func (c Config) Assume(w window.Window) (Estimate, bool) {
	if c.PerDay <= 0 {
		return Estimate{}, false
	}
	const day = 24 * time.Hour
	days, rest := int64(w.Duration()/day), window.Window{From: w.From, To: w.From.Add(w.Duration() % day)}
	perDay := Estimate{Count: int64(c.PerDay), Source: FromConstant}
	return Estimate{
		Count:  days*perDay.Count + perDay.Share(rest, window.Window{From: w.From, To: w.From.Add(day)}).Count,
		Source: FromConstant,
	}, true
}
