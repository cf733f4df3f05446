package slicing

import (
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Whom to ask when a page of a part fails: the other part, and what lies before all that
// was cut.
func TestWhomToAskBesideAPart(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 3, n, 0, 0, 0, 0, time.UTC) }
	days := func(from, to int) window.Window { return window.Window{From: day(from), To: day(to)} }
	var whole *CutOut
	if got := whole.WindowBefore(days(10, 14)); got != days(6, 10) {
		t.Error("of a slice that was not cut:", got)
	}
	cut := whole.Within(days(10, 14), false).Within(days(12, 14), false)
	if got := cut.WindowBefore(days(13, 14)); got != days(9, 10) {
		t.Error("of a part:", got)
	}
	if got := cut.Beside(days(13, 14)); !slices.Equal(got, []window.Window{days(12, 13)}) {
		t.Error("beside a part:", got)
	}
}
