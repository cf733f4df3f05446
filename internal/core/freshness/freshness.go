// Package freshness is when a watermark counts as late: the `alerts` section of a source
// file, the threshold that follows from its other sections where it says nothing, and
// whether a schedule has let a watermark stand.
//
// It must never read a clock or a table: instants are given, and so are watermarks.
package freshness

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Config is the `alerts` section of a source.
type Config struct {
	MaxLag *duration.Duration `json:"maxLag,omitzero" doc:"how far the watermark of a harvest may lag before that is a finding of patra status (default from schedule and window; none without a schedule); PT0S for none"`

	StallAfter       *duration.Duration `json:"stallAfter,omitzero" doc:"how long a watermark may stand after the tick that should have moved it (default findings.stallAfter of patra.yaml)"`
	ErrorShare       *float64           `json:"errorShare,omitzero" doc:"which share of batches may meet errors of L1 and L2, 0 for any (default findings.errorShare of patra.yaml)"`
	ThrottledShare   *float64           `json:"throttledShare,omitzero" doc:"which share of batches may be told to slow down (429), 0 for any (default findings.throttledShare of patra.yaml)"`
	QuarantineGrowth *int               `json:"quarantineGrowth,omitzero" doc:"how many items may come into quarantine within an hour before that is critical, 0 for any (default findings.quarantineGrowth of patra.yaml)"`
	ThinShare        *float64           `json:"thinShare,omitzero" doc:"which share of the items that a weekday usually has a day should have, 0 for none (default findings.thinShare of patra.yaml)"`
}

// thresholds are the limits of an installation that the section decides otherwise.
func (c Config) thresholds() threshold.Config {
	return threshold.Config{StallAfter: c.StallAfter, ErrorShare: c.ErrorShare, ThrottledShare: c.ThrottledShare, QuarantineGrowth: c.QuarantineGrowth, ThinShare: c.ThinShare}
}

// MayDeclare reports whether a source may decide a limit of an installation for itself. Quotas
// belong to rate keys, which several sources may share, and the rest to the machine.
func MayDeclare(limit string) bool {
	switch limit {
	case "stallAfter", "errorShare", "throttledShare", "quarantineGrowth", "thinShare":
		return true
	}
	return false
}

// Limits returns the limits by which findings of the source are judged: its own, else those of
// the installation.
func (c Config) Limits(installed threshold.Limits) threshold.Limits {
	return c.thresholds().Over(installed)
}

// Validate refuses what can mean nothing.
func (c Config) Validate() error {
	if c.MaxLag != nil && *c.MaxLag < 0 {
		return fmt.Errorf("maxLag %s: E-NEGATIVE: cannot be negative", *c.MaxLag)
	}
	for _, p := range c.thresholds().Check() {
		return fmt.Errorf("%s: E-LIMIT: %s: give %s", p.Key, p.Message, p.Hint)
	}
	return nil
}

// Filled returns the section with the threshold that follows from schedule and window,
// where it declares none.
func (c Config) Filled(s schedule.Config, w window.Config) Config {
	if c.MaxLag == nil && s.On() {
		if most := DefaultMaxLag(s, w); most > 0 {
			c.MaxLag = &most
		}
	}
	return c
}

// Limit returns the threshold; 0: there is none.
func (c Config) Limit() time.Duration {
	if c.MaxLag == nil {
		return 0
	}
	return c.MaxLag.Std()
}

// DefaultMaxLag returns how far a watermark may lie behind now under a schedule: twice its
// longest pause with the jitter, so that one tick may be missed, one window, what of the
// lookback fits into one, and the longest safety lag. 0: the schedule never fires.
func DefaultMaxLag(s schedule.Config, w window.Config) duration.Duration {
	pause := longestPause(s)
	if pause == 0 {
		return 0
	}
	w = w.WithDefaults()
	return 2*pause + s.Jitter + w.Size + min(w.Lookback, w.Size) + max(*w.SafetyLag, *w.MaxSafetyLag)
}

// longestPause returns the longest time between two ticks. Those of cron are looked for
// from every sixth hour of five weeks: a longer pause than a few hours is found but for the
// part of it that lies before such an hour, which twice the pause makes up for.
func longestPause(c schedule.Config) (most duration.Duration) {
	if !c.On() {
		return 0
	}
	s, err := schedule.New("", c)
	if err != nil {
		return 0 // the check of the section says so
	}
	if c.Every > 0 {
		return c.Every
	}
	const step, days = 6 * time.Hour, 35
	from := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := from; at.Before(from.Add(days * 24 * time.Hour)); at = at.Add(step) {
		next := s.Next(at)
		if next.IsZero() {
			return most
		}
		most = max(most, duration.Duration(next.Sub(at)))
	}
	return most
}

// silentGrace is how long after it is due a tick may fire: planners look every few seconds,
// and one that takes over waits for a lease.
const silentGrace = time.Minute

// Silent reports whether a schedule does not fire: two ticks after last are due and none has
// become a trigger. since is when the first of them was due.
func Silent(s schedule.Schedule, last, now time.Time) (since time.Time, silent bool) {
	first := s.Next(last)
	if first.IsZero() {
		return since, false
	}
	second := s.Next(first)
	if second.IsZero() || !s.Fires(second).Add(silentGrace).Before(now) {
		return since, false
	}
	return s.Fires(first), true
}

// Stalled reports whether a watermark stands though a tick should have moved it: the tick
// fired, its harvest ends at end, and nothing moved for as long as it may stand. since is when it should
// have moved, or did so last.
func Stalled(watermark, end, fired, moved, now time.Time, mayStand time.Duration) (since time.Time, stalled bool) {
	if !watermark.Before(end) {
		return since, false
	}
	since = window.Later(fired, moved)
	return since, now.Sub(since) >= mayStand
}
