package coverage

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Ahead is what a clock that was ahead left in a coverage: ranges that were wanted or read as
// of a time that has not come. What changes until then counts as read.
type Ahead struct {
	From time.Time // where the first of these ranges begins: what was read from there on is to be read again
	AsOf time.Time // the latest instant as of which something was wanted or read
}

// Ahead returns what lies ahead of a clock; false if nothing does. A first harvest may have
// begun in the future as well: then as much is to be read again, but before now.
func (s State) Ahead(clock time.Time) (out Ahead, found bool) {
	for _, seg := range s.Segments {
		asOf := window.Later(seg.Want, seg.Have)
		if !window.LiesAhead(asOf, clock) {
			continue
		}
		if !found {
			out.From = seg.Window.From
		}
		out.AsOf, found = window.Later(out.AsOf, asOf), true
	}
	if out.From.After(clock) {
		out.From = clock.Add(-max(0, out.AsOf.Sub(out.From)))
	}
	return out, found
}
