package sector

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
	"pgregory.net/rapid"
)

func hour(n int) time.Time { return time.Date(2025, 3, 1, n, 0, 0, 0, time.UTC) }

// An hour counts as read if every slice of it is read, as lost if all are over and one is not read, and is left to others
// while one is open. The model looks at each hour by itself.
func TestDecideFollowsEveryHour(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const hours = 8
		w := window.Window{From: hour(0), To: hour(hours)}
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Slice {
			from := rapid.IntRange(0, hours-1).Draw(t, "from")
			to := rapid.IntRange(from+1, hours).Draw(t, "to")
			return Slice{Window: window.Window{From: hour(from), To: hour(to)}, State: State(rapid.IntRange(0, 2).Draw(t, "state"))}
		}), 0, 6).Draw(t, "slices")
		read, lost := Decide(w, all)
		for n := range hours {
			at := window.Window{From: hour(n), To: hour(n + 1)}
			open, failed := false, false
			for _, s := range all {
				over := s.Window.Overlaps(at)
				open, failed = open || over && s.State == Open, failed || over && s.State == Lost
			}
			wantRead, wantLost := !open && !failed, !open && failed
			if got := holds(read, at); got != wantRead {
				t.Fatalf("hour %d is read: %t, want %t of %v", n, got, wantRead, all)
			}
			if got := holds(lost, at); got != wantLost {
				t.Fatalf("hour %d is lost: %t, want %t of %v", n, got, wantLost, all)
			}
		}
	})
}

func holds(list []window.Window, at window.Window) bool {
	for _, w := range list {
		if w.Intersect(at) == at {
			return true
		}
	}
	return false
}
