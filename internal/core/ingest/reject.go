package ingest

import (
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/record"
)

// RejectPick chooses items in quarantine: by their numbers, or all of a source that
// fit. What is left empty does not narrow.
type RejectPick struct {
	IDs     []int64
	Dataset Dataset // its endpoint may be empty
	Reason  record.Reason
	Path    string
	BatchID int64
	After   int64 // of a source: only items behind this one, in the order of their numbers
}

// Named reports whether items are named one by one.
func (p RejectPick) Named() bool { return len(p.IDs) > 0 }

// String returns the pick as the audit log has it.
func (p RejectPick) String() string {
	if p.Named() {
		return fmt.Sprintf("quarantine %d and %d more", p.IDs[0], len(p.IDs)-1)
	}
	text := []string{p.Dataset.Source}
	if p.Dataset.Endpoint != "" {
		text[0] += "/" + p.Dataset.Endpoint
	}
	if p.Reason != "" {
		text = append(text, string(p.Reason))
	}
	if p.Path != "" {
		text = append(text, p.Path)
	}
	if p.BatchID != 0 {
		text = append(text, fmt.Sprintf("batch %d", p.BatchID))
	}
	return strings.Join(text, " ")
}

// RejectsDone is what became of items that were picked.
type RejectsDone struct {
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"` // were so before, or are settled
}

// Add sums two chunks.
func (d RejectsDone) Add(o RejectsDone) RejectsDone {
	return RejectsDone{d.Changed + o.Changed, d.Unchanged + o.Unchanged}
}
