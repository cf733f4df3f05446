package coverage

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Restart returns what a MANUAL event does besides beginning the coverage anew (D§5.8): which ranges that were done are
// open again, and which that are owed lie below the new value, where no harvest goes back to. The latter would be a
// silent hole, so they are kept as left behind, together with what former restarts left. A restart at no value opens
// all.
func Restart(s State, to time.Time, left []window.Window) (reopened, leaves []window.Window) {
	known := window.Window{From: s.Origin, To: s.Origin}
	if n := len(s.Segments); n > 0 {
		known.To = window.Later(s.Origin, s.Segments[n-1].Window.To)
	}
	var done []window.Window
	for _, seg := range s.Segments {
		if seg.Done() {
			done = append(done, seg.Window)
		}
	}
	if to.IsZero() {
		return window.Union(done), window.Union(slices.Concat(left, []window.Window{known}))
	}
	for _, w := range window.Union(done) {
		if _, after := w.Split(to); !after.Empty() {
			reopened = append(reopened, after)
		}
	}
	if known.To = to; s.Origin.IsZero() {
		known = window.Window{}
	}
	for _, w := range window.Union(slices.Concat(left, []window.Window{known})) {
		below, _ := w.Split(to)
		leaves = append(leaves, Gaps(s.Segments, below)...)
	}
	return reopened, window.Union(leaves)
}
