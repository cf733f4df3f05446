package ledger

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// rangeText says which ids a slice works on.
func rangeText(g *slicing.Range) string {
	if g == nil {
		return "-"
	}
	what := map[string]string{"batch_id": "records of batches", "signal_id": "signals", "quarantine_id": "rejects"}[g.Key]
	switch {
	case g.Kind == slicing.Hash || g.Kind == slicing.HashBucket:
		what = "ids whose hash is in"
	case what == "":
		what = g.Key
	}
	to := wording.Shorten(g.To, tokenWidth)
	if to == "" {
		to = "…"
	}
	return fmt.Sprintf("%s [%s, %s), chosen at %s", what, wording.Shorten(g.From, tokenWidth), to, window.Text(g.AsOf))
}
