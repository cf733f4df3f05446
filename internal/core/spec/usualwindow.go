package spec

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// UsualWindow is the newest window of window.size that is safe to read, on the grid of the
// upstream's filter, so that a first try has something to show.
func (s Snapshot) UsualWindow(now time.Time) window.Window {
	cut := func(t time.Time) time.Time { return t }
	if s.Filter.Field != "" {
		cut = s.Filter.Cut
	}
	to := cut(window.Instant(now.Add(-s.Window.SafetyLag.Std())))
	return window.Window{From: cut(to.Add(-s.Window.Size.Std())), To: to}
}
