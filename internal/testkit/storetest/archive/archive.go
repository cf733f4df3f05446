package archive

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// beginEvents decides on an archive of a ledger.
func (w *world) beginEvents(h fixture.Harvest, before time.Time) (retention.Archive, bool) {
	w.Helper()
	a, begun, err := w.Store.BeginEventArchive(w.Ctx, w.CursorID(h), before, 2)
	w.Must(err)
	return a, begun
}

// eventRows reads what an archive is to hold, in small pages.
func (w *world) eventRows(a retention.Archive) (out []retention.Row) {
	w.Helper()
	after := int64(0)
	for {
		rows, err := w.Store.EventRows(w.Ctx, a, after, 3)
		w.Must(err)
		out = append(out, rows...)
		if len(rows) < 3 {
			return out
		}
		after = rows[len(rows)-1].ID
	}
}

// writeEvents brings an archive up to the point where it can be sealed.
func (w *world) writeEvents(s *fixture.Shelf, a retention.Archive) (retention.File, retention.Signed) {
	w.Helper()
	name := a.FileName("test")
	_, err := w.Store.NameArchive(w.Ctx, a.ID, name)
	w.Must(err)
	c, err := w.Store.Cursor(w.Ctx, a.CursorID)
	w.Must(err)
	rows := w.eventRows(a)
	replay := retention.Replay{Line: ingest.CursorType(c.Type)}
	for _, row := range rows {
		e, err := retention.ReadEntry(row, replay.Line)
		w.Must(err)
		replay.Add(e)
	}
	if len(replay.Problems) > 0 {
		w.Fatalf("the events of archive %d: %v", a.ID, replay.Problems)
	}
	f := s.Put(name, rows)
	signed, err := retention.Snapshot{
		Cursor: retention.Namespace(c.Source, c.Operation, c.Key, c.Scope, c.NamespaceKey), To: a.To, Events: f.Rows, CursorState: replay.CursorState,
		File: name, SHA256: f.SHA256, Previous: a.Previous,
	}.Sign()
	w.Must(err)
	return f, signed
}

// archiveEvents moves the events before an instant, all the way.
func (w *world) archiveEvents(s *fixture.Shelf, h fixture.Harvest, before time.Time) (retention.Archive, bool) {
	w.Helper()
	a, begun := w.beginEvents(h, before)
	if !begun {
		return a, false
	}
	f, signed := w.writeEvents(s, a)
	w.Must(w.Store.SealEvents(w.Ctx, a.ID, f, signed))
	w.Verified(h)
	w.Emptied(a, 2, func() { w.Verified(h) })
	return a, true
}

// kinds are the kinds of a ledger's events, in order.
func (w *world) kinds(h fixture.Harvest) (out []coverage.Kind) {
	w.Helper()
	for _, e := range w.Events(h) {
		out = append(out, e.Kind)
	}
	return out
}
