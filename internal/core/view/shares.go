package view

import "github.com/patra-ingest/patra/internal/core/ingest"

// Shares are what §11.10 asks of a run, each between 0 and 1.
type Shares struct {
	Updates    float64 `json:"updates"`    // of what was inserted or updated
	Duplicates float64 `json:"duplicates"` // of the items that were seen
	Late       float64 `json:"late"`       // of what was inserted or updated
	Repeated   float64 `json:"repeated"`   // of the batches: they had been stored before
}

// SharesOf computes the shares of a run. A share of nothing is zero.
func SharesOf(s ingest.RunStats) Shares {
	of := func(n, all int) float64 {
		if all == 0 {
			return 0
		}
		return float64(n) / float64(all)
	}
	changed := s.Inserted + s.Updated
	return Shares{of(s.Updated, changed), of(s.Duplicate, s.Seen), of(s.Late, changed), of(s.Repeated, s.Pages)}
}
