package spec

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/window"
)

// UsualWindow is the newest window of window.size that is safe to read, on the grid of the
// upstream's filter, so that a first try has something to show. Where a request names one
// unit of the filter, it is the newest whole one.
func (s Snapshot) UsualWindow(now time.Time) window.Window {
	cut := func(t time.Time) time.Time { return t }
	if s.Filter.Field != "" {
		cut = s.Filter.Cut
	}
	to := cut(window.Instant(now.Add(-s.Window.SafetyLag.Std())))
	from := cut(to.Add(-s.Window.Size.Std()))
	if s.Ends() == query.OneUnit {
		from = cut(to.Add(-time.Microsecond))
	}
	return window.Window{From: from, To: to}
}
