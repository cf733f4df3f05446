package coverage

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Asked is how a window that a person names fits a harvest, which goes forward from its watermark.
type Asked int

const (
	AskedOpen  Asked = iota // there is something for a harvest to read
	AskedBelow              // it begins, or ends, before the start of the coverage: no harvest goes back there
	AskedRead               // it ends at or below the watermark, and nothing in it is owed
)

// Fits tells how a window fits a harvest of this coverage. nil is an end that was not named. What is owed below the
// watermark may be asked for: only a harvest closes it (D§5.7).
func (s State) Fits(from, to *time.Time) Asked {
	switch {
	case s.Cursor.IsZero():
		return AskedOpen
	case from != nil && from.Before(s.Origin), to != nil && !to.After(s.Origin) && to.Before(s.Cursor):
		return AskedBelow
	case to == nil || to.After(s.Cursor):
		return AskedOpen
	}
	asked := window.Window{From: s.Origin, To: *to}
	if from != nil {
		asked.From = *from
	}
	if len(Gaps(s.Segments, asked)) > 0 {
		return AskedOpen
	}
	return AskedRead
}
