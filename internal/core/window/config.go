package window

import (
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// Mode says whether window ends may lie anywhere or only on calendar boundaries.
type Mode string

const (
	Sliding  Mode = "SLIDING"
	Calendar Mode = "CALENDAR"
)

// Config is what an operator declares about the windows of a source. A zero field takes the platform default.
type Config struct {
	Mode         Mode               `json:"mode,omitzero" enum:"SLIDING,CALENDAR" doc:"whether window ends may lie anywhere, or only on calendar boundaries (default SLIDING)"`
	Size         duration.Duration  `json:"size,omitzero" doc:"one window: how far back a first harvest goes (default P1D)"`
	Align        Unit               `json:"align,omitzero" enum:"MINUTE,HOUR,DAY,WEEK,MONTH" doc:"CALENDAR: boundaries of a window, in UTC (default HOUR)"`
	Lookback     duration.Duration  `json:"lookback,omitzero" doc:"how long after its stamp an item may appear; every harvest reads this time again (default none)"`
	SafetyLag    *duration.Duration `json:"safetyLag,omitzero" doc:"a harvest stops this long before now (default PT10M; PT0S for none)"`
	MaxSafetyLag *duration.Duration `json:"maxSafetyLag,omitzero" doc:"late arrivals may raise the lag of a harvest up to this (default PT1H; PT0S: the lag stays as declared)"`
	Earliest     string             `json:"earliest,omitzero" doc:"the source has nothing before this date or instant"`
	MaxWindow    duration.Duration  `json:"maxWindow,omitzero" doc:"widest single slice (default P30D)"`
	MinWindow    duration.Duration  `json:"minWindow,omitzero" doc:"narrowest single slice (default PT1M)"`
	Namespace    string             `json:"namespace,omitzero" enum:"EXPR,GLOBAL,CUSTOM" doc:"watermark of the operation: HARVEST keeps one per expression (EXPR, the default) or one for all of them (GLOBAL); BACKFILL and UPDATE have their own (CUSTOM)"`
	UpdatedSince *bool              `json:"updatedSince,omitzero" doc:"the upstream selects by the date of change (default true); false is another way to write filter.bounds: NONE, which needs ordered: true and response.filtered, or UPDATE"`
	Ordered      bool               `json:"ordered,omitzero" doc:"the upstream sorts by the followed date and keeps that order, so that patra can filter items itself"`
	Bootstrap    string             `json:"bootstrap,omitzero" doc:"endpoint with role FILE whose files hold what this list has: patra reads them first, and the first harvest begins at their date less files.age and lookback, so no records are missed between"`
	Order        Order              `json:"order,omitzero" enum:"ASC,DESC" doc:"which way it sorts: oldest first (ASC), or newest first as a feed does (DESC); implies ordered: true; with filter.bounds: NONE a list is read only until its dates have passed the window by lookback, as long as they are seen to be in this order"`
}

// Platform defaults. The lag is that of §4.4.3 (D§5.6).
const (
	DefaultSize         = duration.Day
	DefaultSafetyLag    = duration.Duration(10 * time.Minute)
	DefaultMaxSafetyLag = duration.Duration(time.Hour)
	DefaultMaxWindow    = 30 * duration.Day
	DefaultMinWindow    = duration.Duration(time.Minute)
	DefaultAlign        = Hour
)

// WithDefaults fills what is not set. A lone slice bound pulls the other one along, so a default cannot contradict it.
func (c Config) WithDefaults() Config {
	if c.Mode == "" {
		c.Mode = Sliding
	}
	if c.Size == 0 {
		c.Size = DefaultSize
	}
	if c.Mode == Calendar && c.Align == "" {
		c.Align = DefaultAlign
	}
	if c.SafetyLag == nil {
		lag := DefaultSafetyLag
		c.SafetyLag = &lag
	}
	if c.MaxSafetyLag == nil {
		most := DefaultMaxSafetyLag
		c.MaxSafetyLag = &most
	}
	if c.UpdatedSince == nil {
		yes := true
		c.UpdatedSince = &yes
	}
	if c.MaxWindow == 0 {
		c.MaxWindow = max(DefaultMaxWindow, c.MinWindow)
	}
	if c.MinWindow == 0 {
		c.MinWindow = min(DefaultMinWindow, c.MaxWindow)
	}
	return c
}

// Validate checks a configuration after defaults and reports every fault, each with its field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	faults := []error{c.checkCodes(), c.checkLengths(), c.checkAlign()}
	if c.Order != "" && c.Order != Ascending && c.Order != Descending {
		faults = append(faults, fmt.Errorf("order %q: expected ASC or DESC", c.Order))
	}
	if _, err := c.parseEarliest(); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

func (c Config) checkCodes() error {
	if c.Mode != Sliding && c.Mode != Calendar {
		return fmt.Errorf("mode %q: expected SLIDING or CALENDAR", c.Mode)
	}
	if c.Align == "" {
		return nil
	}
	if _, err := ParseUnit(string(c.Align)); err != nil {
		return fmt.Errorf("align: %w", err)
	}
	return nil
}

func (c Config) checkLengths() error {
	fields := []struct {
		name  string
		value duration.Duration
	}{
		{"size", c.Size}, {"lookback", c.Lookback}, {"safetyLag", *c.SafetyLag}, {"maxSafetyLag", *c.MaxSafetyLag},
		{"maxWindow", c.MaxWindow}, {"minWindow", c.MinWindow},
	}
	for _, f := range fields {
		if f.value < 0 {
			return fmt.Errorf("%s %s: E-NEGATIVE: cannot be negative", f.name, f.value)
		}
	}
	if c.MaxWindow < c.MinWindow {
		return fmt.Errorf("maxWindow %s: E-WINDOW-ORDER: is less than minWindow %s", c.MaxWindow, c.MinWindow)
	}
	return nil
}

// checkAlign refuses hour windows on day boundaries (§4.4.3): rounding down would make nearly every window empty.
func (c Config) checkAlign() error {
	if c.Mode != Calendar {
		return nil
	}
	if c.Size.Std() < c.Align.shortestLength() {
		return fmt.Errorf("size %s: E-WINDOW-ALIGN: is shorter than the %s it is aligned to", c.Size, c.Align)
	}
	if c.MaxWindow.Std() < c.Align.shortestLength() {
		return fmt.Errorf("maxWindow %s: E-WINDOW-ALIGN: is shorter than the %s it is aligned to", c.MaxWindow, c.Align)
	}
	return nil
}

// parseEarliest reads the declared earliest instant; nil if none is declared.
func (c Config) parseEarliest() (*time.Time, error) {
	if c.Earliest == "" {
		return nil, nil
	}
	t, err := ParseInstant(c.Earliest)
	if err != nil {
		return nil, fmt.Errorf("earliest: %w", err)
	}
	return &t, nil
}

// EarliestInstant returns the instant before which the source has nothing; nil: nobody says.
func (c Config) EarliestInstant() (*time.Time, error) { return c.parseEarliest() }
