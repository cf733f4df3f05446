package storetest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
)

// shelf is where a test keeps what the store hands out to be archived.
type shelf struct {
	files map[string][]retention.Row
	order []string
}

func newShelf() *shelf { return &shelf{files: map[string][]retention.Row{}} }

// put makes a file of rows.
func (s *shelf) put(name string, rows []retention.Row) retention.File {
	sum, f := sha256.New(), retention.File{Name: name, Rows: int64(len(rows)), Lineage: retention.Ranges{}}
	for _, r := range rows {
		fmt.Fprintln(sum, string(r.Table), string(r.Columns))
		f.Lineage.Add(r)
		f.Bytes += int64(len(r.Columns))
	}
	f.SHA256 = fmt.Sprintf("%x", sum.Sum(nil))
	s.files[name] = rows
	s.order = append(s.order, name)
	return f
}

// refold folds all that is on the shelf, from the first event on.
func (s *shelf) refold(w *world, line ingest.CursorType) retention.Replay {
	w.Helper()
	r := retention.Replay{Line: line}
	for _, name := range s.order {
		for _, row := range s.files[name] {
			e, err := retention.ReadEntry(row, line)
			w.must(err)
			r.Add(e)
		}
	}
	return r
}

// beginEvents decides on an archive of a ledger.
func (w *world) beginEvents(h harvest, before time.Time) (retention.Archive, bool) {
	w.Helper()
	a, begun, err := w.store.BeginEventArchive(w.ctx, w.cursorID(h), before, 2)
	w.must(err)
	return a, begun
}

// eventRows reads what an archive is to hold, in small pages.
func (w *world) eventRows(a retention.Archive) (out []retention.Row) {
	w.Helper()
	after := int64(0)
	for {
		rows, err := w.store.EventRows(w.ctx, a, after, 3)
		w.must(err)
		out = append(out, rows...)
		if len(rows) < 3 {
			return out
		}
		after = rows[len(rows)-1].ID
	}
}

// writeEvents brings an archive up to the point where it can be sealed.
func (w *world) writeEvents(s *shelf, a retention.Archive) (retention.File, retention.Signed) {
	w.Helper()
	name := a.FileName("test")
	_, err := w.store.NameArchive(w.ctx, a.ID, name)
	w.must(err)
	c, err := w.store.Cursor(w.ctx, a.CursorID)
	w.must(err)
	rows := w.eventRows(a)
	replay := retention.Replay{Line: ingest.CursorType(c.Type)}
	for _, row := range rows {
		e, err := retention.ReadEntry(row, replay.Line)
		w.must(err)
		replay.Add(e)
	}
	if len(replay.Problems) > 0 {
		w.Fatalf("the events of archive %d: %v", a.ID, replay.Problems)
	}
	f := s.put(name, rows)
	signed, err := retention.Snapshot{
		Cursor: retention.Namespace(c.Source, c.Operation, c.Key, c.Scope, c.NamespaceKey), To: a.To, Events: f.Rows, Ledger: replay.Ledger,
		File: name, SHA256: f.SHA256, Previous: a.Previous,
	}.Sign()
	w.must(err)
	return f, signed
}

// archiveEvents moves the events before an instant, all the way.
func (w *world) archiveEvents(s *shelf, h harvest, before time.Time) (retention.Archive, bool) {
	w.Helper()
	a, begun := w.beginEvents(h, before)
	if !begun {
		return a, false
	}
	f, signed := w.writeEvents(s, a)
	w.must(w.store.SealEvents(w.ctx, a.ID, f, signed))
	w.verified(h)
	w.emptied(a, 2, func() { w.verified(h) })
	return a, true
}

// emptied deletes what a sealed archive holds, in chunks.
func (w *world) emptied(a retention.Archive, limit int, between func()) {
	w.Helper()
	for {
		n, err := w.store.DeleteArchived(w.ctx, a.ID, limit)
		w.must(err)
		if n > limit {
			w.Errorf("a step deleted %d rows, %d are allowed", n, limit)
		}
		between()
		if n == 0 {
			break
		}
	}
	w.must(w.store.FinishArchive(w.ctx, a.ID))
}

// kinds are the kinds of a ledger's events, in order.
func (w *world) kinds(h harvest) (out []coverage.Kind) {
	w.Helper()
	for _, e := range w.events(h) {
		out = append(out, e.Kind)
	}
	return out
}
