package window

import (
	"fmt"
	"time"
)

// Inputs is everything besides the configuration that a HARVEST window depends on. Nil pointers mean "not given".
type Inputs struct {
	Now              time.Time
	UserFrom, UserTo *time.Time
	Cursor           *time.Time
	FirstUnsettled   *time.Time // the first instant coverage still owes or must read again (D§5.7)
	Settled          []Window   // ranges that need no further reading
	Waiting          []Window   // failed ranges whose retry is not yet due: owed, but not by this plan
	Begin            *time.Time // before the first reading: as of when files have whatever is older (window.bootstrap)
	Lateness         *Lateness  // what the safety lag adapts to; nil: it is the declared one
}

// Total is the window of one plan. Owed, Skipped and Waiting tile it (I1).
type Total struct {
	Window  Window    `json:"window"`
	NowSafe time.Time `json:"nowSafe"`      // the as-of of the plan and of all its slices, retries included
	Lag     Lag       `json:"lag,omitzero"` // of a HARVEST
	Empty   bool      `json:"empty"`
	Reason  string    `json:"reason,omitzero"` // why there is nothing to slice
	Skipped []Window  `json:"skipped,omitempty"`
	Waiting []Window  `json:"waiting,omitempty"`
	Owed    []Window  `json:"owed,omitempty"`
	Explain []Step    `json:"explain"`
}

// Harvest computes the total window of a HARVEST plan (W§3.2) and extends it down to the first instant that coverage
// does not call settled (D§5.7), so that a failed range is asked for again however far the cursor has moved. An empty
// window is a result with a reason; a request that contradicts itself is an error.
func Harvest(cfg Config, in Inputs) (Total, error) {
	f, err := newFrame(cfg, in.Now, in.UserFrom, in.UserTo)
	if err == nil {
		err = cutInstants(&in.Cursor, &in.FirstUnsettled, &in.Begin)
	}
	if err != nil {
		return Total{}, fmt.Errorf("harvest window: %w", err)
	}
	lag, err := f.adaptLag(in.Now, in.Lateness)
	if err != nil {
		return Total{}, fmt.Errorf("harvest window: %w", err)
	}
	h := &harvest{frame: f, in: in}
	to := h.upperBound()
	t, err := h.totalWindow(h.lowerBound(), to, in.Settled, in.Waiting)
	if err != nil {
		return Total{}, fmt.Errorf("harvest window: %w", err)
	}
	t.Lag = lag
	return t, nil
}

// NothingYet returns the total window of a plan that has to wait for something else.
func NothingYet(now time.Time, why string) Total {
	now = Instant(now)
	var steps trail
	steps.noteInstant("now", now, why)
	return Total{NowSafe: now, Window: Window{From: now, To: now}, Empty: true, Reason: why, Explain: steps}
}

type harvest struct {
	*frame
	in Inputs
}

// lowerBound returns where the window begins: step 2 of W§3.2, then the floor of D§5.6 and what is owed by D§5.7. An
// owed instant below a newly declared earliest is still asked for: nothing else would ever close it.
func (h *harvest) lowerBound() time.Time {
	from := h.floorStart(h.fromCandidate())
	why := "nothing older is owed"
	if owed := h.in.FirstUnsettled; owed != nil && owed.Before(from) {
		from, why = *owed, "owed or still open to late arrivals, so the window starts here"
		if h.userFrom != nil && from.Before(*h.userFrom) {
			from, why = *h.userFrom, "the requested from cuts it off; it stays owed"
		}
	}
	h.trail.noteOptional("firstUnsettled", h.in.FirstUnsettled, why)
	return from
}

func (h *harvest) fromCandidate() time.Time {
	h.trail.noteOptional("cursor", h.in.Cursor, "forward watermark")
	if h.in.Begin != nil {
		h.trail.noteOptional("bootstrap", h.in.Begin, "as of when the files have whatever is older")
	}
	h.trail.noteStep("lookback", h.cfg.Lookback.String(), "how late an item may appear behind its stamp")
	var byCursor, byDefault *time.Time
	var from time.Time
	var why string
	switch {
	case h.in.Cursor != nil:
		byCursor = h.stepBack(*h.in.Cursor, h.cfg.Lookback.Std())
		from, why = *byCursor, "lowerByCursor"
		if h.userFrom != nil {
			from, why = Later(from, *h.userFrom), "the later of lowerByCursor and userFrom"
		}
	case h.in.Begin != nil:
		from, why = *h.stepBack(*h.in.Begin, h.cfg.Lookback.Std()), "what the files have, minus lookback: there is no cursor yet"
		if h.userFrom != nil && h.userFrom.Before(from) {
			from, why = *h.userFrom, "userFrom, which is earlier than what the files have"
		}
	case h.userFrom != nil:
		from, why = *h.userFrom, "userFrom: there is no cursor yet"
	default:
		byDefault = h.stepBack(h.nowSafe, h.cfg.Size.Std())
		from, why = *byDefault, "defaultFrom: there is neither a cursor nor a requested start"
	}
	h.trail.noteOptional("lowerByCursor", byCursor, "cursor minus lookback")
	h.trail.noteOptional("userFrom", h.userFrom, "requested start")
	h.trail.noteOptional("defaultFrom", byDefault, "nowSafe minus one window of "+h.cfg.Size.String())
	h.trail.noteInstant("fromCandidate", from, why)
	return from
}
