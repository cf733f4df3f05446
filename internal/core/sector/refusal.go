package sector

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Refusal is a sector that the upstream refuses, while it gives others. It owes what it owes; it is only not asked for again
// before an instant.
type Refusal struct {
	Sector  string    `json:"partition"`
	Status  int       `json:"status"`    // HTTP status of the last answer
	Since   time.Time `json:"since"`     // when it was refused first
	Asked   time.Time `json:"askedAt"`   // when it was asked for last
	Recheck time.Time `json:"recheckAt"` // when it is asked for again
}

// Due reports whether a refused sector is to be asked for again: its time has come, or what may be the cause was changed since.
func (r Refusal) Due(now, changed time.Time) bool {
	return !now.Before(r.Recheck) || r.Asked.Before(changed)
}

// DefaultRecheck is how long a sector that was refused is left alone.
const DefaultRecheck = 7 * 24 * time.Hour

// DefaultMaxRefused is the share of the sectors that may be refused.
const DefaultMaxRefused = 0.1

// Refusing is how a source says that parts of its list may be refused.
type Refusing struct {
	Status  []int
	Recheck time.Duration
	Share   float64
}

// RefusedBy returns by which answers a part of the list is refused; nil: by none. One entry says so for all.
func RefusedBy(of map[string]Config) *Refusing {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if c := of[name]; len(c.RefusedStatus) > 0 {
			return &Refusing{c.RefusedStatus, cmp.Or(c.Recheck.Std(), DefaultRecheck), cmp.Or(c.MaxRefused, DefaultMaxRefused)}
		}
	}
	return nil
}

// Most returns how many of all sectors may be refused before it is about all of them: a share, but one always, and never all.
func (r Refusing) Most(all int) int {
	return min(max(1, int(r.Share*float64(all))), all-1)
}

// notRefusals are statuses that say nothing about what was asked for.
var notRefusals = []int{401, 407, 408, 425, 429}

// validateRefused refuses statuses that cannot be about one part of a list, and settings without any.
func (c Config) validateRefused() error {
	if len(c.RefusedStatus) == 0 {
		switch {
		case c.Recheck != 0:
			return fmt.Errorf("recheck: E-PARTITION: no part is ever refused; list the statuses that say so in refusedStatus")
		case c.MaxRefused != 0:
			return fmt.Errorf("maxRefused: E-PARTITION: no part is ever refused; list the statuses that say so in refusedStatus")
		}
		return nil
	}
	for _, status := range c.RefusedStatus {
		switch {
		case status < 400 || status > 499:
			return fmt.Errorf("refusedStatus: E-PARTITION: %d does not refuse a part of a list; statuses from 400 to 499 can", status)
		case slices.Contains(notRefusals, status):
			return fmt.Errorf("refusedStatus: E-PARTITION: %d is about the key or about how fast we ask, and not about one part of the list", status)
		}
	}
	switch {
	case c.Recheck != 0 && c.Recheck.Std() < time.Hour:
		return fmt.Errorf("recheck: E-PARTITION: less than PT1H would be a retry; leave refusedStatus out for that")
	case c.MaxRefused < 0 || c.MaxRefused > 0.5:
		return fmt.Errorf("maxRefused: E-SHARE: must be between 0 and 0.5: if most parts are refused, it is not about the parts")
	}
	return nil
}
