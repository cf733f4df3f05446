package inspect

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// readAhead is coverage of which a part was read ahead, for all sources of an answer at once: one
// question instead of one a source. What was not read ahead is asked for.
type readAhead struct {
	Coverage
	segments map[int64][]coverage.Segment
	work     []view.Workload
}

// Segments returns the coverage of one cursor.
func (r readAhead) Segments(ctx context.Context, cursorID int64) ([]coverage.Segment, error) {
	if known, read := r.segments[cursorID]; read {
		return known, nil
	}
	return r.Coverage.Segments(ctx, cursorID)
}

// OpenWindows returns the windows of a partition whose tasks wait or are worked on. Where none did
// when the coverage was read, there are none.
func (r readAhead) OpenWindows(ctx context.Context, of ingest.Partition, cursorID int64) ([]window.Window, error) {
	if _, read := r.segments[cursorID]; read && !r.isWorkedOn(of) {
		return nil, nil
	}
	return r.Coverage.OpenWindows(ctx, of, cursorID)
}

func (r readAhead) isWorkedOn(of ingest.Partition) bool {
	for _, w := range r.work {
		if w.Source == of.Source && w.Endpoint == of.Endpoint && w.Operation == string(of.Operation) && w.Running+w.Waiting > 0 {
			return true
		}
	}
	return false
}

// readCoverageAhead reads the segments of the watermarks that a status judges, and the work, as they
// are at one instant. One that cannot be read is told by the source it belongs to, when that is
// looked at.
func (s *statusBuilder) readCoverageAhead(ctx context.Context, sources []definedSource, cursors []view.Cursor) error {
	var ids []int64
	for _, c := range cursors {
		if isJudged(c, sources) {
			ids = append(ids, c.ID)
		}
	}
	segments, work, err := s.from.Coverage.CoverageAndWork(ctx, s.query.Source, ids)
	if err != nil {
		return ctx.Err()
	}
	ahead := *s.Inspector
	ahead.from.Coverage = readAhead{s.from.Coverage, segments, work}
	s.Inspector, s.work = &ahead, work
	return nil
}

// isJudged reports whether a status looks at the segments of a cursor: it is of what a source asks
// for now, or of a backfill or an update.
func isJudged(c view.Cursor, sources []definedSource) bool {
	if c.Operation != string(ingest.Harvest) {
		return c.Line() == ingest.CursorTime
	}
	for _, src := range sources {
		if src.code != c.Source {
			continue
		}
		for _, e := range src.endpoints {
			if e.Name == c.Endpoint && c.IsAt(e.At) {
				return true
			}
		}
	}
	return false
}
