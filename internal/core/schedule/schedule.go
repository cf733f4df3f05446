package schedule

import (
	"fmt"
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

// Schedule is a configuration under the name it is known by.
type Schedule struct {
	Name   string
	Config Config
	in     *time.Location
	cron   cronTimes
}

// New checks a configuration and names it.
func New(name string, c Config) (Schedule, error) {
	c = c.WithDefaults()
	if err := c.Validate(); err != nil {
		return Schedule{}, fmt.Errorf("schedule %s: %w", name, err)
	}
	s := Schedule{Name: name, Config: c}
	var err error
	if c.Cron != "" {
		if s.cron, err = parseCron(c.Cron); err != nil {
			return Schedule{}, err // cannot be: it was checked
		}
	}
	s.in, err = c.Zone.Location()
	return s, err
}

// Next returns the first tick after an instant; the zero time if there is none.
func (s Schedule) Next(after time.Time) time.Time {
	if s.Config.Every > 0 {
		return s.tickAt(s.periodNumber(after) + 1)
	}
	if s.Config.Cron == "" {
		return time.Time{}
	}
	clock := onClock(after, s.in)
	for {
		next, ok := s.cron.timeAfter(clock)
		if !ok {
			return time.Time{}
		}
		// Of a time that comes twice the first counts, so the second time round
		// the ticks of that hour lie behind us.
		if tick := firstShown(next, s.in); tick.After(after) {
			return tick
		}
		clock = next
	}
}

// periodNumber returns how many whole periods lie between 1970 and an instant.
func (s Schedule) periodNumber(at time.Time) int64 {
	period := int64(s.Config.Every.Std() / time.Second)
	n := at.Unix() / period
	if at.Unix()%period < 0 {
		n--
	}
	return n
}

func (s Schedule) tickAt(number int64) time.Time {
	return time.Unix(number*int64(s.Config.Every.Std()/time.Second), 0).UTC()
}

// Fires returns when a tick fires: later by a share of the jitter that follows
// from the name and the tick, so that two processes agree on it and two sources
// scheduled for the same minute do not start together.
func (s Schedule) Fires(tick time.Time) time.Time {
	jitter := s.Config.Jitter.Std().Milliseconds()
	if jitter <= 0 {
		return tick
	}
	share, _ := strconv.ParseUint(fingerprint.Key("jitter", s.Name, Text(tick))[:13], 16, 64) // 13 hex digits always parse
	return tick.Add(time.Duration(share%uint64(jitter+1)) * time.Millisecond)
}

// Due returns the newest tick after last that has fired by now. All older ones
// since last are coalesced into it, and missed is how many they are.
func (s Schedule) Due(last, now time.Time) (tick time.Time, missed int, ok bool) {
	if s.Config.Every > 0 {
		return s.dueEvery(last, now)
	}
	passed := 0
	for t := s.Next(last); !t.IsZero() && !t.After(now); t = s.Next(t) {
		passed++
		if !s.Fires(t).After(now) {
			tick, missed, ok = t, passed-1, true
		}
	}
	return tick, missed, ok
}

// dueEvery reckons: a year of seconds is too long to walk.
func (s Schedule) dueEvery(last, now time.Time) (tick time.Time, missed int, ok bool) {
	n := s.periodNumber(now)
	if s.Fires(s.tickAt(n)).After(now) {
		n-- // jitter is shorter than the period, so this one has fired
	}
	behind := n - s.periodNumber(last)
	if behind <= 0 {
		return time.Time{}, 0, false
	}
	return s.tickAt(n), int(behind - 1), true
}

// Wakes returns the first instant after now at which a tick after last fires; the
// zero time if none ever will. It is worth asking Due again then.
func (s Schedule) Wakes(last, now time.Time) (at time.Time) {
	from := now.Add(-s.Config.Jitter.Std())
	if last.After(from) {
		from = last
	}
	for tick := s.Next(from); !tick.IsZero() && (at.IsZero() || tick.Before(at)); tick = s.Next(tick) {
		if fires := s.Fires(tick); fires.After(now) && (at.IsZero() || fires.Before(at)) {
			at = fires
		}
	}
	return at
}

// Key returns the identity of a tick: the same tick twice is one trigger (D§5.5).
func (s Schedule) Key(tick time.Time) string { return "schedule " + s.Name + " " + Text(tick) }

// Text writes a tick.
func Text(tick time.Time) string { return tick.UTC().Format(time.RFC3339) }
