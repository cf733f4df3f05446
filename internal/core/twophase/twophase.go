// Package twophase is the second step of a source that searches by id: ids
// found by a SEARCH endpoint are asked for in batches at a DETAIL endpoint
// (§4.6, §11.6).
//
// So far it is the declaration of that step and its limits. It never fetches.
package twophase

import "fmt"

// Config is the `details` section of a SEARCH endpoint.
type Config struct {
	Endpoint  string `json:"endpoint,omitempty" doc:"DETAIL endpoint that is asked for the found ids; none: the search already gives whole records"`
	BatchSize int    `json:"batchSize,omitempty" doc:"ids per detail request, read there as ${ids} (default 100)"`
	MaxIDs    int    `json:"maxIds,omitempty" doc:"most ids the upstream takes in one request"`
}

// WithDefaults fills what the source left open.
func (c Config) WithDefaults() Config {
	if c.Endpoint == "" {
		return c
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
	case !c.Enabled() && (c.BatchSize != 0 || c.MaxIDs != 0):
		return fmt.Errorf("endpoint: E-TWO-PHASE-PAIR: a two-phase source needs the DETAIL endpoint that takes the ids")
	case c.MaxIDs > 0 && c.BatchSize > c.MaxIDs:
		return fmt.Errorf("batchSize %d: E-ID-BATCH-LIMIT: is more than the %d ids the upstream takes (details.maxIds)", c.BatchSize, c.MaxIDs)
	}
	return nil
}
