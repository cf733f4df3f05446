package slicing

import (
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// Config is the `slicing` section of an endpoint. Fields that say zero:"ok" are
// stored even if zero: a written zero is not a missing value.
type Config struct {
	Strategy       Strategy          `json:"strategy,omitempty" enum:"TIME,ID_RANGE,CURSOR_LANDMARK,VOLUME_BUDGET,HYBRID" doc:"how a window is cut (default TIME)"`
	Step           duration.Duration `json:"step,omitempty" doc:"length of a slice (default P1D)"`
	MinStep        duration.Duration `json:"minStep,omitempty" doc:"a slice that holds too much is bisected down to this length, or to one unit of filter.precision if that is longer (default PT1M)"`
	TargetRecords  int               `json:"targetRecords,omitempty" doc:"items one slice should hold; a slice that is expected to hold more is bisected (default none)"`
	Tolerance      float64           `json:"tolerance" zero:"ok" doc:"share by which a slice may exceed targetRecords before it is bisected, 0 to 1 (default 0.1; 0 for none)"`
	MergeBelow     float64           `json:"mergeBelow" zero:"ok" doc:"share of targetRecords, 0 to 1, below which a slice joins its neighbour, as long as both together stay within targetRecords (default 0.1; 0: never)"`
	MaxPages       int               `json:"maxPages,omitempty" doc:"pages one slice should need; slices are counted, and one that is expected to need more is bisected (default that of paging.maxPages, for slices that are counted anyway)"`
	Overlap        duration.Duration `json:"overlap,omitempty" doc:"time to ask for beyond each end of a slice if the upstream keeps no order; each item still belongs to one slice (default none)"`
	PerDay         int               `json:"perDay,omitempty" doc:"items per day to assume where the source has no count and no history (default unknown)"`
	MaxRequests    int               `json:"maxRequests,omitempty" doc:"requests one slice may use (default 10000)"`
	MaxRecords     int               `json:"maxRecords,omitempty" doc:"items one slice may deliver (default 1000000)"`
	MaxDurationSec int               `json:"maxDurationSec,omitempty" doc:"seconds one run of a slice may take (default 3600)"`
	PlanRequests   int64             `json:"planRequests,omitempty" doc:"requests a plan may use while slices that are too large are cut smaller; beyond it such a slice fails with BUDGET (default 10000, or maxRequests if that is more, for each slice of the plan and for 20 more)"`
	PlanRecords    int64             `json:"planRecords,omitempty" doc:"items, as planRequests (default 1000000, or maxRecords if that is more, for each slice of the plan and for 20 more)"`
	Priority       int               `json:"priority,omitempty" doc:"priority of the tasks in the queue and at the rate gate, 1 to 100: the smaller number goes first (default 10 for HARVEST, 50 for UPDATE, 90 for BACKFILL)"`
	PlanBytes      int64             `json:"planBytes,omitempty" doc:"bytes of answers, as planRequests (default 10 GB for each slice of the plan and for 20 more)"`
	Second         *Axis             `json:"second,omitempty" doc:"what to cut a slice by if it holds more than paging.maxResults and its time cannot be cut finer (default nothing: such a slice fails as CAPPED)"`
}

// LastPriority is that of what goes last.
const LastPriority = 100

// WithDefaults fills what the source left open.
func (c Config) WithDefaults() Config {
	if c.Strategy == "" {
		c.Strategy = TIME
	}
	if c.Step == 0 {
		c.Step = duration.Duration(24 * time.Hour)
	}
	if c.MinStep == 0 {
		c.MinStep = duration.Duration(time.Minute)
	}
	if c.Tolerance == 0 {
		c.Tolerance = 0.1
	}
	if c.MergeBelow == 0 {
		c.MergeBelow = 0.1
	}
	if c.MaxRequests == 0 {
		c.MaxRequests = 10_000
	}
	if c.MaxRecords == 0 {
		c.MaxRecords = 1_000_000
	}
	if c.MaxDurationSec == 0 {
		c.MaxDurationSec = 3600
	}
	return c
}

// Validate names the field that is wrong.
func (c Config) Validate() error {
	if _, err := findStrategy(c.Strategy); err != nil {
		return err
	}
	if c.Step < 0 || c.MaxRequests < 0 || c.MaxRecords < 0 || c.MaxDurationSec < 0 {
		return fmt.Errorf("slicing: step, maxRequests, maxRecords and maxDurationSec must not be negative")
	}
	if c.MinStep < 0 || c.Overlap < 0 || c.TargetRecords < 0 || c.MaxPages < 0 || c.PerDay < 0 {
		return fmt.Errorf("slicing: minStep, overlap, targetRecords, maxPages and perDay must not be negative")
	}
	if c.PlanRequests < 0 || c.PlanRecords < 0 || c.PlanBytes < 0 {
		return fmt.Errorf("slicing: planRequests, planRecords and planBytes must not be negative")
	}
	if c.Priority < 0 || c.Priority > LastPriority {
		return fmt.Errorf("slicing: priority is %d: expected 1 to %d, the smaller number goes first", c.Priority, LastPriority)
	}
	if c.Second != nil {
		if err := c.Second.Validate(); err != nil {
			return err
		}
	}
	return errors.Join(checkShare("tolerance", c.Tolerance), checkShare("mergeBelow", c.MergeBelow))
}

func checkShare(name string, share float64) error {
	if !(share >= 0 && share <= 1) { // so that NaN is refused too
		return fmt.Errorf("%s %v: E-SHARE: must be between 0 and 1", name, share)
	}
	return nil
}
