package retention

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
	Held     int64 `json:"held"` // versions that the outbox still refers to
}

// Changed reports whether anything was done.
func (p Pruned) Changed() bool { return p.Versions > 0 || p.Messages > 0 }
