package blackbox

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Two runs are identical only if all records of both are known.
func TestRunsWithoutBodiesAreNotIdentical(t *testing.T) {
	page := func(no int, unread string, ids ...string) PageOf {
		b := view.Batch{No: no}
		b.Stats = ingest.BatchStats{Seen: 2}
		return PageOf{Batch: b, IDs: ids, Versions: make([]Version, len(ids)), Unread: unread}
	}
	for name, c := range map[string]struct {
		a, b              []PageOf
		identical, differ bool
	}{
		"all read":      {[]PageOf{page(1, "", "x", "y")}, []PageOf{page(1, "", "x", "y")}, true, false},
		"others":        {[]PageOf{page(1, "", "x", "y")}, []PageOf{page(1, "", "x", "z")}, false, true},
		"one body gone": {[]PageOf{page(1, "gone")}, []PageOf{page(1, "", "x", "y")}, false, false},
		"both gone":     {[]PageOf{page(1, "gone")}, []PageOf{page(1, "gone")}, false, false},
	} {
		if d := DiffRuns(view.Run{}, view.Run{}, c.a, c.b); d.Identical != c.identical || d.Differs() != c.differ {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
