package window

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// Lateness is what finished runs of a namespace tell about items that came late: behind the watermark as it was when
// their plan was made, in time that had been read before.
type Lateness struct {
	Late    int64         // items that changed the store and came late
	Changed int64         // all items that changed the store
	Raised  time.Duration // by how much the lag of the latest plan exceeded the declared one
}

// LatenessSpan is how far back runs count (S appendix C).
const LatenessSpan = 7 * 24 * time.Hour

// The steps of S appendix C. A share of fewer items than minChanged says nothing.
const (
	raiseStep   = 5 * time.Minute
	easeStep    = time.Minute
	raiseAbove  = 5 // items in a thousand
	easeBelow   = 1 // items in a thousand
	minChanged  = 200
	perThousand = 1000
)

// Lag is the safety lag of one HARVEST plan, what it rests on, and why it is what it is.
type Lag struct {
	Value    duration.Duration `json:"value"`
	Declared duration.Duration `json:"declared"`
	Late     string            `json:"late"` // late items of those that changed
	Why      string            `json:"why"`
}

// Raised returns by how much the lag exceeds the declared one.
func (l Lag) Raised() time.Duration { return l.Value.Std() - l.Declared.Std() }

// Lag returns the safety lag of the next HARVEST plan (S appendix C). It starts from what the plan before it added to
// the declared lag, so that a newly declared lag holds at once. It never falls below the declared lag, and late
// arrivals raise it no further than maxSafetyLag.
func (c Config) Lag(seen Lateness) Lag {
	c = c.WithDefaults()
	declared := c.SafetyLag.Std()
	most := max(declared, c.MaxSafetyLag.Std())
	before := min(declared+max(0, seen.Raised), most)
	step, _ := seen.lagStep()
	lag := Lag{
		Value: duration.Duration(min(max(declared, before+step), most)), Declared: *c.SafetyLag, Late: fmt.Sprintf("%d of %d", seen.Late, seen.Changed),
	}
	was := duration.Duration(before)
	switch {
	case lag.Value > was:
		lag.Why = fmt.Sprintf("raised from %s; declared %s", was, lag.Declared)
	case lag.Value < was:
		lag.Why = fmt.Sprintf("back from %s; declared %s", was, lag.Declared)
	case lag.Raised() > 0:
		lag.Why = fmt.Sprintf("as in the plan before; declared %s", lag.Declared)
	default:
		lag.Why = "as declared"
	}
	if step > 0 && lag.Value.Std() == most {
		lag.Why += ", at most " + duration.Duration(most).String()
	}
	return lag
}

// lagStep returns where the share of late items pushes the lag. Where nothing came late, it needs no sample to go
// back: the declared lag is what the operator wants.
func (l Lateness) lagStep() (by time.Duration, why string) {
	const of = "of what changed in seven days came late"
	share := 100 * float64(l.Late) / float64(max(1, l.Changed))
	switch {
	case l.Late == 0:
		return -easeStep, "nothing " + of
	case l.Late*perThousand < l.Changed*easeBelow:
		return -easeStep, fmt.Sprintf("%.2f %% %s, less than 0.1", share, of)
	case l.Changed < minChanged:
		return 0, fmt.Sprintf("%.2f %% %s; too few to tell", share, of)
	case l.Late*perThousand > l.Changed*raiseAbove:
		return raiseStep, fmt.Sprintf("%.2f %% %s, more than 0.5", share, of)
	}
	return 0, fmt.Sprintf("%.2f %% %s, 0.1 to 0.5", share, of)
}

// adaptLag sets the lag of a HARVEST from what was measured; nil: nothing was.
func (f *frame) adaptLag(now time.Time, seen *Lateness) (Lag, error) {
	lag, why := Lag{Value: *f.cfg.SafetyLag, Declared: *f.cfg.SafetyLag, Late: none, Why: "as declared"}, "not measured"
	if seen != nil {
		lag = f.cfg.Lag(*seen)
		_, why = seen.lagStep()
	}
	f.trail.noteStep("lateArrivals", lag.Late, why)
	f.trail.noteStep("safetyLag", lag.Value.String(), lag.Why)
	f.cfg.SafetyLag = &lag.Value
	f.nowSafe = Instant(now.Add(-lag.Value.Std()))
	return lag, CheckInstant(f.nowSafe)
}
