package generation

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/refresh"
)

// Config is the `snapshot` section of a source. The zero Config is no such list. Where readings of a
// window replace each other (response.replaces: WINDOW) it has no Every.
type Config struct {
	Every    duration.Duration `json:"every,omitzero" doc:"the upstream has no dates to select by, so every harvest reads the whole list; a reading counts for this long, then a scheduled harvest reads again"`
	MinShare float64           `json:"minShare,omitzero" zero:"ok" doc:"share of the ids of the last complete reading, 0 to 1, that must come again; fewer make the reading SHRUNK: it is stored, and the list does not count as read (default 0.5)"`
	Confirm  int               `json:"confirm,omitzero" doc:"number of complete readings in a row that must lack a record before it is gone; two or more must also lie most of a day apart (default 2)"`
	MaxGone  float64           `json:"maxGone,omitzero" zero:"ok" doc:"share of the ids of a list, 0 to 1, that one reading may take for gone; if more vanish, none is taken for gone, and patra coverage readings says so. Up to ten are always believed; 0 takes nothing for gone (default 0.1)"`
}

// Platform defaults.
const (
	DefaultMinShare = 0.5
	DefaultConfirm  = 2
	DefaultMaxGone  = refresh.MaxGone
)

// On reports whether lists are read whole.
func (c Config) On() bool { return c.Every > 0 }

// WithDefaults fills what is not set. A Config that says nothing stays zero.
func (c Config) WithDefaults() Config {
	if !c.On() {
		return c
	}
	return c.fill()
}

// ForWindows fills what is not set where a reading is that of a window, and not of a whole list.
func (c Config) ForWindows() Config { return c.fill() }

func (c Config) fill() Config {
	if c.MinShare == 0 {
		c.MinShare = DefaultMinShare
	}
	if c.Confirm == 0 {
		c.Confirm = DefaultConfirm
	}
	if c.MaxGone == 0 {
		c.MaxGone = DefaultMaxGone
	}
	return c
}

// shortest is how long a reading counts at least: the readings of a day are kept to tell
// what is gone.
const shortest = 15 * time.Minute

// mostConfirmed bounds how many generations are kept for the sake of one that may lack a
// record.
const mostConfirmed = 10

// Validate refuses what can mean nothing. Shares are compared so that NaN is refused too.
func (c Config) Validate() error {
	switch {
	case c == Config{}:
		return nil
	case c.Every < 0:
		return fmt.Errorf("every %s: E-NEGATIVE: cannot be negative", c.Every)
	case c.Every != 0 && c.Every.Std() < shortest:
		return fmt.Errorf("every %s: E-SNAPSHOT: is less than %s, and a list is not read whole more often", c.Every, duration.Duration(shortest))
	case !(c.MinShare >= 0 && c.MinShare <= 1):
		return fmt.Errorf("minShare %v: E-SHARE: must be between 0 and 1", c.MinShare)
	case c.Confirm < 0 || c.Confirm > mostConfirmed:
		return fmt.Errorf("confirm %d: E-SNAPSHOT: must be 1 to %d readings", c.Confirm, mostConfirmed)
	case !(c.MaxGone >= 0 && c.MaxGone <= 1):
		return fmt.Errorf("maxGone %v: E-SHARE: must be between 0 and 1", c.MaxGone)
	}
	return nil
}
