package inspect

import (
	"context"
	"errors"
	"slices"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// readAhead is coverage of which a part was read ahead, for all sources of an answer at once: one
// question instead of one a source. What was not read ahead is asked for.
type readAhead struct {
	Coverage
	known view.CoverageAndWork
}

// Segments returns the coverage of one cursor.
func (r readAhead) Segments(ctx context.Context, cursorID int64) ([]coverage.Segment, error) {
	if segments, read := r.known.Segments[cursorID]; read {
		return segments, nil
	}
	return r.Coverage.Segments(ctx, cursorID)
}

// OpenWindows returns the windows of a cursor whose tasks wait or are worked on.
func (r readAhead) OpenWindows(ctx context.Context, of ingest.Partition, cursorID int64) ([]window.Window, error) {
	if _, read := r.known.Segments[cursorID]; read {
		return r.known.Open[cursorID], nil
	}
	return r.Coverage.OpenWindows(ctx, of, cursorID)
}

// readCoverageAhead reads the coverage of the watermarks that a status judges, and the work. One that
// cannot be read is told by the source it belongs to, when that is looked at.
func (s *statusBuilder) readCoverageAhead(ctx context.Context, sources []definedSource, cursors []view.Cursor) error {
	judged := slices.DeleteFunc(slices.Clone(cursors), func(c view.Cursor) bool { return !isJudged(c, sources) })
	known, err := s.from.Coverage.CoverageAndWork(ctx, s.query.Source, judged)
	if err != nil {
		return ctx.Err()
	}
	ahead := *s.Inspector
	ahead.from.Coverage = readAhead{s.from.Coverage, known}
	s.Inspector, s.work = &ahead, known.Work
	return nil
}

// besideSources is what of a status does not depend on how the sources stand, and takes longest to
// read.
type besideSources struct {
	rejects  map[ingest.Dataset]view.RejectCount
	glances  [][]ingest.WindowCount // of the newest days of each watermark
	backlogs []view.Backlog
}

// readBesideAhead reads it together, because most of that is waiting for the database.
func (s *statusBuilder) readBesideAhead(ctx context.Context) error {
	wrong := make([]error, 3)
	s.eachTogether(len(wrong), func(n int) {
		switch n {
		case 0:
			s.beside.rejects, wrong[n] = s.from.Beside.UndecidedRejects(ctx, s.query.Source)
		case 1:
			s.beside.glances, wrong[n] = s.readGlances(ctx)
		case 2:
			s.beside.backlogs, wrong[n] = s.from.Beside.Backlogs(ctx, s.query.Source)
		}
	})
	return errors.Join(wrong...)
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
