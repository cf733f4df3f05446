package retention

import "slices"

// Archived is what an archiving run did, or would.
type Archived struct {
	DryRun  bool         `json:"dryRun"`
	Events  int64        `json:"events"`
	Cursors int          `json:"cursors"` // whose ledgers became shorter
	Plans   int          `json:"plans"`
	Rows    int64        `json:"rows"` // of plans and all that hangs on them
	Files   []string     `json:"files"`
	Sums    int64        `json:"sums"`           // of hours that are as old: removed, not moved
	Held    map[Hold]int `json:"held,omitempty"` // plans that are old and stay, by reason
}

// Changed reports whether anything was done.
func (a Archived) Changed() bool { return a.Events > 0 || a.Plans > 0 }

// Pruned is what a pruning run removed, or would.
type Pruned struct {
	DryRun   bool  `json:"dryRun"`
	Versions int64 `json:"versions"`
	Messages int64 `json:"messages"`
	// Unclaimed are messages that nobody ever asked for.
	Unclaimed int64 `json:"unclaimed"`
	Held      int64 `json:"held"` // versions that the outbox still refers to
	// Damaged tells of versions that cannot be read: they stay as they are, and what they
	// replaced stays too.
	Damaged []string `json:"damaged"`
}

// Add adds another step.
func (p *Pruned) Add(o Pruned) {
	p.Versions, p.Messages, p.Unclaimed, p.Held = p.Versions+o.Versions, p.Messages+o.Messages, p.Unclaimed+o.Unclaimed, p.Held+o.Held
	for _, text := range o.Damaged { // one frame is met for each of its versions
		if !slices.Contains(p.Damaged, text) {
			p.Damaged = append(p.Damaged, text)
		}
	}
}

// Changed reports whether anything was done.
func (p Pruned) Changed() bool { return p.Versions > 0 || p.Messages > 0 || p.Unclaimed > 0 }
