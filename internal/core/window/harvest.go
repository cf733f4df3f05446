package window

import (
	"fmt"
	"slices"
	"time"
)

// Inputs is everything besides the configuration that a HARVEST window depends on. Nil pointers mean "not given".
type Inputs struct {
	Now              time.Time
	UserFrom, UserTo *time.Time
	Cursor           *time.Time
	FirstUnsettled   *time.Time // the first instant coverage still owes or must read again (D§5.7)
	Settled          []Window   // stretches that need no further reading
	Waiting          []Window   // failed stretches whose retry is not yet due: owed, but not by this plan
}

// Total is the window of one plan. Owed, Skipped and Waiting tile it (I1).
type Total struct {
	Window  Window    `json:"window"`
	NowSafe time.Time `json:"nowSafe"` // the as-of of the plan and of all its slices, retries included
	Empty   bool      `json:"empty"`
	Reason  string    `json:"reason,omitzero"` // why there is nothing to slice
	Skipped []Window  `json:"skipped,omitempty"`
	Waiting []Window  `json:"waiting,omitempty"`
	Owed    []Window  `json:"owed,omitempty"`
	Explain []Step    `json:"explain"`
}

// Harvest computes the total window of a HARVEST plan (W§3.2) and extends it down to the first instant that coverage
// does not call settled (D§5.7), so that a failed stretch is asked for again however far the cursor has moved. An empty
// window is a result with a reason; a request that contradicts itself is an error.
func Harvest(cfg Config, in Inputs) (Total, error) {
	h, err := newHarvest(cfg, in)
	if err != nil {
		return Total{}, fmt.Errorf("harvest window: %w", err)
	}
	to := h.upper()
	from := h.lower()
	from, to = h.align(from, to)
	h.trail.at("from", from, "start of the window, included")
	h.trail.at("to", to, "end of the window, not included")
	return h.total(from, to)
}

type harvest struct {
	cfg      Config
	in       Inputs
	earliest *time.Time
	nowSafe  time.Time
	trail    trail
}

func newHarvest(cfg Config, in Inputs) (*harvest, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	earliest, err := cfg.earliest()
	if err != nil {
		return nil, err
	}
	for _, given := range []**time.Time{&in.UserFrom, &in.UserTo, &in.Cursor, &in.FirstUnsettled} {
		if err := cutInstant(given); err != nil {
			return nil, err
		}
	}
	nowSafe := Instant(in.Now.Add(-cfg.SafetyLag.Std()))
	if err := CheckInstant(nowSafe); err != nil {
		return nil, fmt.Errorf("now minus safetyLag: %w", err)
	}
	h := &harvest{cfg: cfg, in: in, earliest: earliest, nowSafe: nowSafe}
	return h, h.checkUser()
}

func cutInstant(given **time.Time) error {
	if *given == nil {
		return nil
	}
	t := Instant(**given)
	*given = &t
	return CheckInstant(t)
}

func (h *harvest) checkUser() error {
	from, to := h.in.UserFrom, h.in.UserTo
	if from != nil && to != nil && !from.Before(*to) {
		return fmt.Errorf("the requested from %s is not before the requested to %s", Text(*from), Text(*to))
	}
	if to != nil && h.earliest != nil && !h.earliest.Before(*to) {
		return fmt.Errorf("the requested to %s is not after %s, the earliest of this source", Text(*to), Text(*h.earliest))
	}
	return nil
}

// upper is step 1 of W§3.2.
func (h *harvest) upper() time.Time {
	h.trail.at("nowSafe", h.nowSafe, "now minus safetyLag "+h.cfg.SafetyLag.String())
	h.trail.maybe("userTo", h.in.UserTo, "requested end")
	to := h.nowSafe
	if h.in.UserTo != nil {
		to = earlier(to, *h.in.UserTo)
	}
	h.trail.at("toCandidate", to, "the earlier of nowSafe and userTo")
	return to
}

// lower is step 2 of W§3.2, then the floor of D§5.6 and the debt of D§5.7. An owed instant below a newly declared
// earliest is still asked for: nothing else would ever close it.
func (h *harvest) lower() time.Time {
	from := h.fromCandidate()
	h.trail.maybe("earliest", h.earliest, "the source has nothing before it")
	if h.earliest != nil {
		from = later(from, *h.earliest)
	}
	why := "nothing older is owed"
	if owed := h.in.FirstUnsettled; owed != nil && owed.Before(from) {
		from, why = *owed, "owed or still open to late arrivals, so the window starts here"
		if h.in.UserFrom != nil && from.Before(*h.in.UserFrom) {
			from, why = *h.in.UserFrom, "the requested from cuts it off; it stays owed"
		}
	}
	h.trail.maybe("firstUnsettled", h.in.FirstUnsettled, why)
	return from
}

func (h *harvest) fromCandidate() time.Time {
	h.trail.maybe("cursor", h.in.Cursor, "forward watermark")
	h.trail.note("lookback", h.cfg.Lookback.String(), "how late an item may appear behind its stamp")
	var byCursor, byDefault *time.Time
	var from time.Time
	var why string
	switch {
	case h.in.Cursor != nil:
		byCursor = h.back(*h.in.Cursor, h.cfg.Lookback.Std())
		from, why = *byCursor, "lowerByCursor"
		if h.in.UserFrom != nil {
			from, why = later(from, *h.in.UserFrom), "the later of lowerByCursor and userFrom"
		}
	case h.in.UserFrom != nil:
		from, why = *h.in.UserFrom, "userFrom: there is no cursor yet"
	default:
		byDefault = h.back(h.nowSafe, h.cfg.Size.Std())
		from, why = *byDefault, "defaultFrom: there is neither a cursor nor a requested start"
	}
	h.trail.maybe("lowerByCursor", byCursor, "cursor minus lookback")
	h.trail.maybe("userFrom", h.in.UserFrom, "requested start")
	h.trail.maybe("defaultFrom", byDefault, "nowSafe minus one window of "+h.cfg.Size.String())
	h.trail.at("fromCandidate", from, why)
	return from
}

// back stops at the first instant the store can hold (D§5.21).
func (h *harvest) back(t time.Time, by time.Duration) *time.Time {
	floor := time.Date(minYear, 1, 1, 0, 0, 0, 0, time.UTC)
	from := later(floor, Instant(t.Add(-by)))
	return &from
}

// align is step 3 of W§3.2.
func (h *harvest) align(from, to time.Time) (time.Time, time.Time) {
	if h.cfg.Mode != Calendar {
		h.trail.note("align", none, "SLIDING windows are not aligned")
		return from, to
	}
	h.trail.note("align", string(h.cfg.Align), "both ends rounded down in UTC")
	return FloorAlign(from, h.cfg.Align), FloorAlign(to, h.cfg.Align)
}

// total is step 4 of W§3.2 and the skips of D§5.7.
func (h *harvest) total(from, to time.Time) (Total, error) {
	t := Total{NowSafe: h.nowSafe}
	if !from.Before(to) {
		t.Empty, t.Reason = true, h.whyEmpty(from, to)
		t.Window = Window{From: to, To: to}
		h.trail.note("result", "empty", t.Reason)
		t.Explain = h.trail
		return t, nil
	}
	w, err := New(from, to)
	if err != nil {
		return Total{}, fmt.Errorf("harvest window: %w", err)
	}
	t.Window = w
	t.Skipped = h.skippable(w, h.in.Settled)
	for _, waiting := range h.skippable(w, h.in.Waiting) {
		t.Waiting = append(t.Waiting, Subtract(waiting, t.Skipped)...)
	}
	t.Owed = Subtract(w, slices.Concat(t.Skipped, t.Waiting))
	if len(t.Owed) == 0 {
		t.Reason = fmt.Sprintf("all of %s is settled or waits for a retry", w)
	}
	h.trail.note("result", w.String(), fmt.Sprintf("%d stretches to read, %d settled, %d waiting for a retry",
		len(t.Owed), len(t.Skipped), len(t.Waiting)))
	t.Explain = h.trail
	return t, nil
}

// skippable keeps whole calendar units only: a source with day stamps puts every item of a day at its first instant, so
// a day is either read completely or not at all.
func (h *harvest) skippable(w Window, stretches []Window) []Window {
	inside := Within(w, stretches)
	if h.cfg.Mode == Calendar {
		return wholeUnits(inside, h.cfg.Align)
	}
	return inside
}

func (h *harvest) whyEmpty(from, to time.Time) string {
	switch {
	case h.cfg.Mode == Calendar && from.Equal(to):
		return fmt.Sprintf("no whole %s lies between the start and the end: both round down to %s", h.cfg.Align, Text(to))
	case h.in.UserTo != nil && h.in.UserTo.Before(h.nowSafe):
		return fmt.Sprintf("the start %s is not before the requested end %s", Text(from), Text(to))
	default:
		return fmt.Sprintf("the start %s is not before %s, the end of what is safe to read now", Text(from), Text(to))
	}
}
