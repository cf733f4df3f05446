// Package twophase is the second step of a source that searches by id: ids
// found by a SEARCH endpoint are asked for in batches at a DETAIL endpoint
// (§4.6, §11.6).
//
// It holds the declaration of that step and the account of ids: which were
// found, which are still to be asked for, which the upstream did not deliver. It
// never fetches.
package twophase

import (
	"cmp"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/refresh"
)

// Config is the `details` section of a SEARCH endpoint.
type Config struct {
	Endpoint  string `json:"endpoint,omitempty" doc:"DETAIL endpoint that is asked for the found ids; none: the search already gives whole records"`
	BatchSize int    `json:"batchSize,omitempty" doc:"ids per detail request, read there as ${ids} (default 100)"`
	MaxIDs    int    `json:"maxIds,omitempty" doc:"most ids the upstream takes in one request"`
	Missing   Policy `json:"missing,omitempty" enum:"RECHECK,QUARANTINE,GONE" doc:"what to do with an id that the detail endpoint does not know: RECHECK asks once more at the end of the slice and then quarantines it, QUARANTINE does so at once, GONE takes a stored record for deleted if it is missing again at least a day later, and quarantines an id that was never stored (default RECHECK)"`

	// Of an UPDATE, which asks for records that are stored.
	Vanished  Vanished          `json:"vanished,omitempty" enum:"GONE,QUARANTINE" doc:"what to do with a stored record that the detail endpoint no longer has when asked twice: GONE makes it a tombstone if it is missing again at least a day later, QUARANTINE sets the id aside and keeps the record (default GONE)"`
	MaxGone   float64           `json:"maxGone,omitempty" doc:"share of the records an UPDATE asks for, 0 to 1, that may be missing; if more are, the updates of the endpoint stop and no record is taken for missing or deleted. Up to ten of a slice are always believed (default 0.1)"`
	Redirects bool              `json:"redirects,omitempty" doc:"if the answer to a request for one id has another id, the first was merged into the second"`
	Every     duration.Duration `json:"every,omitempty" doc:"an UPDATE re-checks every record once in this time, unless it is told otherwise (default P30D)"`
}

// Vanished says what becomes of a stored record that the upstream lost.
type Vanished string

// What may become of one.
const (
	VanishedGone       Vanished = "GONE"
	VanishedQuarantine Vanished = "QUARANTINE"
)

// Gone reports whether such a record becomes a tombstone.
func (c Config) Gone() bool { return c.Vanished != VanishedQuarantine }

// GoneShare returns the share of records that may be missing.
func (c Config) GoneShare() float64 { return cmp.Or(c.MaxGone, refresh.MaxGone) }

// Cycle returns the time in which every record is looked at.
func (c Config) Cycle() duration.Duration {
	return cmp.Or(c.Every, duration.Duration(refresh.UsualCycle))
}

// Policy says what becomes of a found id without a detail.
type Policy string

// Policies.
const (
	Recheck    Policy = "RECHECK"
	Quarantine Policy = "QUARANTINE"
	Gone       Policy = "GONE"
)

// WithDefaults fills what the source left open.
func (c Config) WithDefaults() Config {
	if c.Endpoint == "" {
		return c
	}
	if c.Missing == "" {
		c.Missing = Recheck
	}
	if c.BatchSize == 0 {
		c.BatchSize = 100
		if c.MaxIDs > 0 {
			c.BatchSize = min(c.BatchSize, c.MaxIDs)
		}
	}
	return c
}

// Alone returns the second step of an endpoint that is only asked by id and belongs to no
// search: one id a request, unless the source says more.
func (c Config) Alone(endpoint string) Config {
	c.Endpoint, c.BatchSize = endpoint, cmp.Or(c.BatchSize, 1)
	return c.WithDefaults()
}

// Enabled reports whether details are fetched in a second step.
func (c Config) Enabled() bool { return c.Endpoint != "" }

// Validate names the field that is wrong.
func (c Config) Validate() error {
	switch {
	case !c.Enabled() && c != (Config{}):
		return fmt.Errorf("endpoint: E-TWO-PHASE-PAIR: a two-phase source needs the DETAIL endpoint that takes the ids")
	case c.MaxIDs > 0 && c.BatchSize > c.MaxIDs:
		return fmt.Errorf("batchSize %d: E-ID-BATCH-LIMIT: is more than the %d ids the upstream takes (details.maxIds)", c.BatchSize, c.MaxIDs)
	case !(c.MaxGone >= 0 && c.MaxGone <= 1): // so that NaN is refused too
		return fmt.Errorf("maxGone %v: E-SHARE: must be between 0 and 1", c.MaxGone)
	}
	if c.Every != 0 {
		if err := (refresh.Spec{Policy: refresh.ByAge, Cycle: c.Every}).Validate(); err != nil {
			return fmt.Errorf("every: E-VALUE: %w", err)
		}
	}
	return nil
}
