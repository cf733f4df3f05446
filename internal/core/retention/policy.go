package retention

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// Policy is what an operator wants kept where. Zero keeps everything: history
// leaves the database only where somebody said so.
type Policy struct {
	// Archive: events, and plans with their slices, tasks, runs and batches, are
	// moved to files when they ended longer ago than this.
	Archive time.Duration
	// MinEvents: a ledger is shortened only by at least as many events.
	MinEvents int
	// Unpublished moves plans also while their outbox rows wait for a relay.
	Unpublished bool
	// Versions: an older version of a record is removed when it was replaced
	// longer ago than this.
	Versions time.Duration
	// MinVersions is how many versions older than that stay: at least the one that
	// was current then.
	MinVersions int
	// Outbox: messages are removed when they were published longer ago than this.
	Outbox time.Duration
	// Unclaimed: messages are removed when they were written longer ago than this and
	// nobody ever published from this database.
	Unclaimed time.Duration
}

// How long a process that serves keeps messages if nobody says otherwise (decision 95). A
// receiver that lost something looks back a few weeks; where nobody receives, an export has
// all that events told.
const (
	UsualOutbox    = 30 * 24 * time.Hour
	UsualUnclaimed = 90 * 24 * time.Hour
)

// Defaults of what is not said.
const (
	defaultMinEvents   = 2
	defaultMinVersions = 1
	mostMinVersions    = 100
)

// WithDefaults fills what was left open.
func (p Policy) WithDefaults() Policy {
	p.MinEvents = max(p.MinEvents, defaultMinEvents)
	if p.MinVersions == 0 {
		p.MinVersions = defaultMinVersions
	}
	return p
}

// Least is the shortest time that history is kept: whoever looks for the reason
// of a failure looks at the last days.
const Least = 24 * time.Hour

// Validate refuses what would take history away that is still used.
func (p Policy) Validate() error {
	if p.Archive != 0 && p.Archive < Least {
		return fmt.Errorf("%w: history must be kept for a day at least before it is archived", fault.ErrInvalid)
	}
	if p.Versions < 0 || p.Outbox < 0 || p.Unclaimed < 0 {
		return fmt.Errorf("%w: a time to keep something cannot be negative", fault.ErrInvalid)
	}
	if p.MinVersions < 1 || p.MinVersions > mostMinVersions {
		return fmt.Errorf("%w: %d older versions: expected 1 to %d", fault.ErrInvalid, p.MinVersions, mostMinVersions)
	}
	return nil
}

// Archives reports whether anything is moved to files.
func (p Policy) Archives() bool { return p.Archive > 0 }

// Prunes reports whether anything is removed.
func (p Policy) Prunes() bool { return p.Versions > 0 || p.Outbox > 0 || p.Unclaimed > 0 }
