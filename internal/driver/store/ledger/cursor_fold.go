package ledger

import (
	"math"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// touched are the segments that an event changed, and their neighbours.
type touched struct {
	after []coverage.Segment
	to    time.Time // every segment is here that begins before this or at it, down to the first one here
	whole bool      // the event replaced the book
}

// foldCoverage rewrites only the segments under the event's windows and their
// neighbours, so that finishing a slice does not cost more with history.
func (t *tx) foldCoverage(cursorID int64, e coverage.Event, lookback time.Duration) (touched, error) {
	if e.Kind == coverage.Manual {
		before, err := t.readSegments("cursor_id = ?", cursorID)
		if err != nil {
			return touched{}, err
		}
		after := coverage.Apply(before, e, lookback)
		return touched{after: after, whole: true}, t.replaceSegments(cursorID, before, after)
	}
	if len(e.Windows) == 0 {
		return touched{}, nil
	}
	low, high := e.Windows[0].From.UnixMicro(), e.Windows[len(e.Windows)-1].To
	// Segments are disjoint, so of those that begin before the windows only the last
	// one can reach them: it is found by the key, however many there are.
	before, err := t.readSegments("cursor_id = ? AND seg_from >= COALESCE((SELECT MAX(seg_from) FROM ing_coverage WHERE cursor_id = ? AND seg_from < ?), ?) AND seg_from <= ?",
		cursorID, cursorID, low, low, high.UnixMicro())
	if err != nil {
		return touched{}, err
	}
	after := coverage.Apply(before, e, lookback)
	return touched{after: after, to: high}, t.replaceSegments(cursorID, before, after)
}

// frontierOf returns the first instant that is not done, if the segments at hand
// tell; or any that is not behind the cursor, if they tell that the cursor stays.
// Slices that end in order end right behind what is settled, so they mostly do.
func (b touched) frontierOf(s coverage.State) (at time.Time, known bool) {
	if b.whole {
		return coverage.Frontier(s.Origin, b.after), true
	}
	for _, seg := range b.after {
		if !seg.Done() && !seg.Window.From.Before(s.Origin) && !seg.Window.From.After(s.Cursor) {
			return s.Origin, true // what is owed here is not behind the cursor
		}
	}
	if len(b.after) == 0 || b.after[0].Window.From.After(s.Origin) {
		return at, false // something may be owed before
	}
	at = coverage.Frontier(s.Origin, b.after)
	return at, !at.After(b.to)
}

const segmentColumns = "seg_from, seg_to, want_at, have_at, waived_at, fails, retry_after"

func (t *tx) readSegments(where string, args ...any) (out []coverage.Segment, err error) {
	rows, err := t.Query("SELECT "+segmentColumns+" FROM ing_coverage WHERE "+where+" ORDER BY seg_from", args...)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		seg, err := look.ScanSegment(rows)
		out = append(out, seg)
		return err
	})
}

// replaceSegments writes what differs. A row that is no longer needed becomes one
// that is: first those that begin where they began, so that no other is in the way.
func (t *tx) replaceSegments(cursorID int64, before, after []coverage.Segment) error {
	written := make(map[coverage.Segment]bool, len(before))
	free := make(map[int64]bool, len(before)) // rows by where they begin
	for _, s := range before {
		written[s], free[s.Window.From.UnixMicro()] = true, true
	}
	var fresh []coverage.Segment
	for _, s := range after {
		at := s.Window.From.UnixMicro()
		switch same := free[at]; {
		case !same:
			fresh = append(fresh, s)
			continue
		case !written[s]:
			if err := t.rewriteSegment(cursorID, at, s); err != nil {
				return err
			}
		}
		delete(free, at)
	}
	for _, s := range before {
		at := s.Window.From.UnixMicro()
		if !free[at] {
			continue
		}
		if len(fresh) > 0 {
			if err := t.rewriteSegment(cursorID, at, fresh[0]); err != nil {
				return err
			}
			fresh = fresh[1:]
			continue
		}
		if _, err := t.Exec("DELETE FROM ing_coverage WHERE cursor_id = ? AND seg_from = ?", cursorID, at); err != nil {
			return err
		}
	}
	rows := make([]any, 0, 8*len(fresh))
	for _, s := range fresh {
		rows = append(append(rows, cursorID), segmentValues(s)...)
	}
	return t.InsertFlat("ing_coverage", "cursor_id, "+segmentColumns, 8, rows)
}

func (t *tx) rewriteSegment(cursorID, at int64, s coverage.Segment) error {
	return t.ExecOne(`UPDATE ing_coverage SET seg_from = ?, seg_to = ?, want_at = ?, have_at = ?, waived_at = ?, fails = ?, retry_after = ?
  WHERE cursor_id = ? AND seg_from = ?`, append(segmentValues(s), cursorID, at)...)
}

func segmentValues(s coverage.Segment) []any {
	return []any{s.Window.From.UnixMicro(), s.Window.To.UnixMicro(), kernel.Micros(s.Want), kernel.Micros(s.Have), kernel.Micros(s.Waived), s.Fails, kernel.Micros(s.RetryAfter)}
}

// atOnce is how many segments a look for the frontier reads at a time. What is
// settled merges, so it is mostly found among the first.
const atOnce = 64

// readFrontier reads segments from the origin on until one is not done.
func (t *tx) readFrontier(cursorID int64, origin time.Time) (time.Time, error) {
	at, last := origin, int64(math.MinInt64)
	for {
		page, err := t.Query("SELECT "+segmentColumns+" FROM ing_coverage WHERE cursor_id = ? AND seg_from > ? AND seg_to > ? ORDER BY seg_from LIMIT ?",
			cursorID, last, origin.UnixMicro(), atOnce)
		if err != nil {
			return origin, err
		}
		read, open := 0, false
		err = kernel.Each(page, func() error {
			s, err := look.ScanSegment(page)
			if open = open || s.Window.From.After(at) || !s.Done(); !open {
				at = s.Window.To
			}
			last = s.Window.From.UnixMicro()
			read++
			return err
		})
		if err != nil || open || read < atOnce {
			return at, err
		}
	}
}
