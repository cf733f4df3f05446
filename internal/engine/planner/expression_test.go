package planner

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/window"
)

// The text made once for all slices is the canonical expression of each.
func TestExpressionsAreCanonical(t *testing.T) {
	for name, settings := range map[string][]string{
		"everything":     nil,
		"a condition":    {`query.where=oneOf(type, "monograph", "journal-article")`},
		"two conditions": {`query.where=exact(type, "book") and exact(issn, "1234-5678")`},
	} {
		c := crossref(t, settings...)
		e, err := newExpressions(c.Snapshot, c.Prototype.Selection)
		if err != nil || e.head == "" {
			t.Fatalf("%s: %+v, %v", name, e, err)
		}
		rapid.Check(t, func(t *rapid.T) {
			from := time.UnixMicro(rapid.Int64Range(-30_000_000_000_000_000, 200_000_000_000_000_000).Draw(t, "from")).UTC()
			w := window.Window{From: from, To: from.Add(time.Duration(rapid.Int64Range(1, 1<<50).Draw(t, "length")) * time.Microsecond)}
			slow, err := e.writeAlone(w)
			if err != nil {
				return // beyond what the store can hold
			}
			if quick, err := e.expressionOf(w); err != nil || string(quick) != string(slow) {
				t.Fatalf("%s: %s, canonical %s (%v)", w, quick, slow, err)
			}
		})
	}
}
