package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// Gauges is what metrics show of stored rows. It is computed now and then, and shown
// until the next time.
type Gauges struct {
	At     time.Time     // by the store's clock
	Took   time.Duration // to compute
	Status Status
	Work   []Workload
	Rates  []RateKey
	// Breakers are those of endpoints whose last run failed.
	Breakers map[ingest.Dataset]RateBreaker
	// Backfill is the active campaign of each dataset that is furthest from its end.
	Backfill []CampaignLag
	// Raw is how much room kept bodies of answers take; nil where that is not known.
	Raw *RawRoom
}

// RawRoom is the room of kept bodies.
type RawRoom struct {
	Dir   string `json:"dir"`
	Bytes int64  `json:"bytes"` // that they take
	Limit int64  `json:"limit"` // that they may take
}

// CampaignLag is how much of a campaign lies ahead of its watermark.
type CampaignLag struct {
	Source   string
	Endpoint string
	Name     string
	Ahead    time.Duration
}
