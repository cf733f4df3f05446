// Package twophase is the second step of a source that searches by id: ids
// found by a SEARCH endpoint are asked for in batches at a DETAIL endpoint
// (§4.6, §11.6).
//
// It holds the declaration of that step and the account of ids: which were
// found, which are still to be asked for, which the upstream did not deliver. It
// never fetches.
package twophase

import "fmt"

// Config is the `details` section of a SEARCH endpoint.
type Config struct {
	Endpoint  string `json:"endpoint,omitempty" doc:"DETAIL endpoint that is asked for the found ids; none: the search already gives whole records"`
	BatchSize int    `json:"batchSize,omitempty" doc:"ids per detail request, read there as ${ids} (default 100)"`
	MaxIDs    int    `json:"maxIds,omitempty" doc:"most ids the upstream takes in one request"`
	Missing   Policy `json:"missing,omitempty" enum:"RECHECK,QUARANTINE,GONE" doc:"what becomes of an id the detail endpoint does not know: RECHECK asks once more at the end of the slice and then quarantines it, QUARANTINE does so at once, GONE takes it for a deleted record (default RECHECK)"`
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

// Enabled reports whether details are fetched in a second step.
func (c Config) Enabled() bool { return c.Endpoint != "" }

// Validate names the field that is wrong.
func (c Config) Validate() error {
	switch {
	case !c.Enabled() && (c.BatchSize != 0 || c.MaxIDs != 0 || c.Missing != ""):
		return fmt.Errorf("endpoint: E-TWO-PHASE-PAIR: a two-phase source needs the DETAIL endpoint that takes the ids")
	case c.MaxIDs > 0 && c.BatchSize > c.MaxIDs:
		return fmt.Errorf("batchSize %d: E-ID-BATCH-LIMIT: is more than the %d ids the upstream takes (details.maxIds)", c.BatchSize, c.MaxIDs)
	}
	return nil
}
