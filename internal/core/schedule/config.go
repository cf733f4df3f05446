package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/zone"
)

// Config is the `schedule` section of a source. The zero Config is no schedule.
type Config struct {
	Cron    string            `json:"cron,omitzero" doc:"five fields: minute, hour, day of the month, month, day of the week, such as 0 3 * * *; a time the clock skips fires when it jumps, one it repeats fires once"`
	Every   duration.Duration `json:"every,omitzero" doc:"instead of cron: whole seconds between two ticks, counted from 1970 in UTC, so restarts do not move them"`
	Zone    zone.Zone         `json:"zone,omitzero" doc:"whose clock cron means (default UTC)"`
	Jitter  duration.Duration `json:"jitter,omitzero" doc:"ticks fire up to this much later, each by an amount of its own that every process agrees on (default none)"`
	Enabled *bool             `json:"enabled,omitzero" doc:"fire (default true where cron or every is given); for BACKFILL and UPDATE only what stands below operations counts"`
}

// WithDefaults writes the cron fields in one spelling. A Config that says nothing
// stays zero: what has no schedule has no trace of one in its snapshot.
func (c Config) WithDefaults() Config {
	c.Cron = normalSpelling(c.Cron)
	if c.Enabled == nil && (c.Cron != "" || c.Every != 0) {
		yes := true
		c.Enabled = &yes
	}
	return c
}

// On reports whether the schedule fires.
func (c Config) On() bool {
	c = c.WithDefaults()
	return c.Enabled != nil && *c.Enabled
}

// Validate reports every fault with its field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	faults := []error{c.checkChoice(), c.checkLengths()}
	if c.Cron != "" {
		if _, err := parseCron(c.Cron); err != nil {
			faults = append(faults, fmt.Errorf("cron %q: E-SCHEDULE: %w", c.Cron, err))
		}
	}
	if _, err := c.Zone.Location(); err != nil {
		faults = append(faults, fmt.Errorf("zone %q: E-SCHEDULE: %w", c.Zone, err))
	}
	return errors.Join(faults...)
}

func (c Config) checkChoice() error {
	switch {
	case c.Cron != "" && c.Every != 0:
		return fmt.Errorf(`every %s: E-SCHEDULE: stands beside cron, and a schedule has one of them; PT0S or cron: "" takes back what a wider level says`, c.Every)
	case c.Cron == "" && c.Every == 0 && c.On():
		return errors.New("enabled true: E-SCHEDULE: needs cron or every")
	}
	return nil
}

func (c Config) checkLengths() error {
	switch {
	case c.Every < 0 || c.Every.Std()%time.Second != 0:
		return fmt.Errorf("every %s: E-SCHEDULE: must be whole seconds", c.Every)
	case c.Jitter < 0 || c.Every > 0 && c.Jitter >= c.Every:
		return fmt.Errorf("jitter %s: E-SCHEDULE: must be shorter than every %s, or ticks would overtake one another", c.Jitter, c.Every)
	case c.Jitter > duration.Day:
		return fmt.Errorf("jitter %s: E-SCHEDULE: must be at most a day", c.Jitter)
	}
	return nil
}

// String returns the schedule for people.
func (c Config) String() string {
	c = c.WithDefaults()
	text := "every " + c.Every.String()
	if c.Cron != "" {
		text = "cron " + c.Cron
		if c.Zone != "" && c.Zone != zone.UTC {
			text += " in " + string(c.Zone)
		}
	}
	if c.Jitter > 0 {
		text += ", jitter " + c.Jitter.String()
	}
	return text
}

// normalSpelling returns a cron text with single blanks and upper-case names.
func normalSpelling(cron string) string {
	return strings.ToUpper(strings.Join(strings.Fields(cron), " "))
}
