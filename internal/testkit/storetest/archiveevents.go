package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
)

func (s suite) eventArchives(t *testing.T) {
	h := harvest{days: 6, lookback: day}
	// Six days, one of them failed, an hour apart, and a plan of today.
	lived := func(w *world) time.Time {
		w.Helper()
		w.plan(h)
		for _, o := range []ingest.Outcome{succeeded, succeeded, failed, succeeded, succeeded} {
			w.clock.advance(time.Hour)
			w.work(h, o)
		}
		w.clock.advance(time.Hour)
		cut := w.clock.read()
		w.work(h, succeeded)
		w.verified(h)
		return cut
	}
	s.test(t, "a snapshot stands for the old events and the boundaries stay", func(w *world) {
		shelf, cut := newShelf(), lived(w)
		before, book := w.events(h), w.book(h)
		a, begun := w.archiveEvents(shelf, h, cut)
		if !begun {
			w.Fatal("nothing was archived")
		}
		want := []coverage.Kind{coverage.Planned, coverage.Snapshot, coverage.Succeeded, coverage.Succeeded}
		if got := w.kinds(h); !reflect.DeepEqual(got, want) {
			w.Errorf("the ledger has %v, want %v: the first, the snapshot, the last before the cut and the rest", got, want)
		}
		after := w.events(h)
		if after[0].ID != before[0].ID || after[1].ID != a.To || a.To != before[4].ID {
			w.Errorf("events %v", after)
		}
		if !reflect.DeepEqual(w.book(h), book) {
			w.Error("the coverage changed")
		}
		verdict, err := w.store.Verify(w.ctx, w.cursorID(h))
		w.must(err)
		if verdict.Events != 2 {
			w.Errorf("verify folded %d events, want those after the snapshot", verdict.Events)
		}
		if _, begun := w.beginEvents(h, cut); begun {
			w.Error("there is nothing more to move")
		}
	})
	s.test(t, "what people decided stays", func(w *world) {
		shelf := newShelf()
		lived(w)
		for _, to := range []time.Time{midnight(2), midnight(3)} {
			w.clock.advance(time.Hour)
			_, err := w.store.SetCursor(w.ctx, w.cursorID(h), to, ingest.Act{Actor: "tester", Reason: to.String()})
			w.must(err)
		}
		again := harvest{trigger: "again", first: 3, days: 3, asOf: noon.Add(day)}
		w.plan(again)
		w.clock.advance(time.Hour)
		w.work(again, succeeded, succeeded, succeeded)
		w.clock.advance(time.Hour)
		w.archiveEvents(shelf, h, w.clock.read())
		want := []coverage.Kind{coverage.Planned, coverage.Manual, coverage.Manual, coverage.Snapshot, coverage.Succeeded}
		if got := w.kinds(h); !reflect.DeepEqual(got, want) {
			w.Errorf("the ledger has %v, want %v", got, want)
		}
		w.verified(h)
	})
	s.test(t, "a ledger that is young or short is left alone", func(w *world) {
		w.plan(h)
		w.clock.advance(time.Hour)
		w.work(h, succeeded)
		w.unchanged("begin", func() {
			if _, begun := w.beginEvents(h, noon); begun {
				w.Error("all is younger")
			}
			if _, begun := w.beginEvents(h, w.clock.read().Add(time.Hour)); begun {
				w.Error("the first and the last stay, and there is nothing between them")
			}
		})
	})
	s.test(t, "a file that is not what was decided is refused", func(w *world) {
		shelf, cut := newShelf(), lived(w)
		a, _ := w.beginEvents(h, cut)
		f, signed := w.writeEvents(shelf, a)
		resigned := func(change func(*retention.Snapshot)) retention.Signed {
			s := signed.Snapshot
			change(&s)
			out, err := s.Sign()
			w.must(err)
			return out
		}
		short := f
		short.Rows--
		other := f
		other.Name = a.FileName("other")
		w.unchanged("seal", func() {
			for name, err := range map[string]error{
				"a file with fewer rows": w.store.SealEvents(w.ctx, a.ID, short, signed),
				"another previous":       w.store.SealEvents(w.ctx, a.ID, f, resigned(func(s *retention.Snapshot) { s.Previous = f.SHA256 })),
				"another end":            w.store.SealEvents(w.ctx, a.ID, f, resigned(func(s *retention.Snapshot) { s.To-- })),
				"another file":           w.store.SealEvents(w.ctx, a.ID, f, resigned(func(s *retention.Snapshot) { s.SHA256 = signed.Signature })),
			} {
				w.refuses(err, fault.ErrInvalid, name)
			}
			signed.State.Cursor = signed.State.Cursor.Add(time.Hour)
			w.refuses(w.store.SealEvents(w.ctx, a.ID, f, signed), fault.ErrInvalid, "a wrong signature")
			w.refuses(w.store.SealEvents(w.ctx, a.ID, other, resigned(func(s *retention.Snapshot) { s.File = other.Name })), fault.ErrStale, "another attempt's file")
			_, err := w.store.DeleteArchived(w.ctx, a.ID, 10)
			w.refuses(err, fault.ErrInvalid, "to delete before it is sealed")
			w.refuses(w.store.FinishArchive(w.ctx, a.ID), fault.ErrInvalid, "to finish before it is sealed")
		})
	})
	for name, tamper := range map[string]func(w *world, id int64) int64{
		"the state in the snapshot": func(w *world, id int64) int64 {
			return w.changeSnapshot(id, func(s *retention.Signed) { s.State.Cursor = s.State.Cursor.Add(time.Hour) })
		},
		"a segment in the snapshot": func(w *world, id int64) int64 {
			return w.changeSnapshot(id, func(s *retention.Signed) { s.State.Segments[0].Fails++ })
		},
		"the file's hash in the snapshot": func(w *world, id int64) int64 {
			return w.changeSnapshot(id, func(s *retention.Signed) { s.SHA256 = s.Signature })
		},
		"a snapshot that is signed anew": func(w *world, id int64) int64 {
			return w.changeSnapshot(id, func(s *retention.Signed) {
				s.State.Origin = s.State.Origin.Add(time.Hour)
				again, err := s.Sign()
				w.must(err)
				*s = again
			})
		},
		"the snapshot taken away": func(w *world, id int64) int64 {
			return w.exec("DELETE FROM ing_cursor_event WHERE kind_code = 'SNAPSHOT'")
		},
		"the archive's row taken away": func(w *world, id int64) int64 { return w.exec("DELETE FROM ing_archive") },
		"the hash in the archive's row": func(w *world, id int64) int64 {
			return w.exec("UPDATE ing_archive SET file_hash = signature")
		},
		"the chain of archives": func(w *world, id int64) int64 {
			return w.exec("UPDATE ing_archive SET prev_signature = file_hash")
		},
		"an event after the snapshot": func(w *world, id int64) int64 {
			return w.exec("DELETE FROM ing_cursor_event WHERE id = ?", w.number("SELECT MAX(id) FROM ing_cursor_event"))
		},
	} {
		s.test(t, "verify finds a change of "+name, func(w *world) {
			shelf, cut := newShelf(), lived(w)
			w.archiveEvents(shelf, h, cut)
			if tamper(w, w.cursorID(h)) == 0 {
				w.Fatal("nothing was changed")
			}
			verdict, err := w.store.Verify(w.ctx, w.cursorID(h))
			w.must(err)
			if len(verdict.Problems) == 0 {
				w.Error("verify found nothing")
			}
		})
	}
	s.test(t, "a cursor is not repaired from a snapshot that was changed", func(w *world) {
		shelf, cut := newShelf(), lived(w)
		w.archiveEvents(shelf, h, cut)
		w.changeSnapshot(w.cursorID(h), func(s *retention.Signed) { s.State.Cursor = s.State.Cursor.Add(time.Hour) })
		w.unchanged("repair", func() {
			_, err := w.store.RepairCursor(w.ctx, w.cursorID(h), tester)
			w.refuses(err, fault.ErrConflict, "repair")
		})
	})
	for seed := range uint64(4) {
		s.test(t, fmt.Sprintf("any history, cut anywhere, gives the same: seed %d", seed), func(w *world) { w.randomLedger(seed) })
	}
}

// changeSnapshot tampers with the snapshot of a ledger.
func (w *world) changeSnapshot(cursor int64, change func(*retention.Signed)) int64 {
	w.Helper()
	signed, err := retention.ReadSigned([]byte(w.text("SELECT record_remarks FROM ing_cursor_event WHERE cursor_id = ? AND kind_code = 'SNAPSHOT'", cursor)))
	w.must(err)
	change(&signed)
	text, err := json.Marshal(signed)
	w.must(err)
	return w.exec("UPDATE ing_cursor_event SET record_remarks = ?, idempotent_key = ? WHERE cursor_id = ? AND kind_code = 'SNAPSHOT'", string(text), signed.Signature, cursor)
}

// randomLedger lives through a random history and cuts its ledger at random
// points, at times only half way. In every committed state the refold of the
// snapshot and the rest, and that of the files and the rest, give what is stored.
func (w *world) randomLedger(seed uint64) {
	w.Helper()
	r, shelf := rand.New(rand.NewPCG(seed, 7)), newShelf()
	h := harvest{days: 1}
	w.plan(harvest{trigger: "first", first: 1 + r.IntN(10), days: 2, lookback: time.Duration(r.IntN(3)) * day})
	outcomes := []ingest.Outcome{succeeded, succeeded, succeeded, failed, cancelled, partial}
	archives, moved := 0, int64(0)
	for step := range 45 {
		w.clock.advance(time.Duration(1+r.IntN(300)) * time.Minute)
		switch n := r.IntN(20); {
		case n < 4:
			w.plan(harvest{trigger: fmt.Sprint(step), first: 1 + r.IntN(12), days: 1 + r.IntN(4), asOf: w.clock.read(), lookback: time.Duration(r.IntN(3)) * day})
		case n == 4:
			to := time.Time{}
			if r.IntN(3) > 0 {
				to = midnight(1 + r.IntN(12))
			}
			_, err := w.store.SetCursor(w.ctx, w.cursorID(h), to, ingest.Act{Actor: "tester", Reason: fmt.Sprint(step)})
			w.must(err)
		case n == 5:
			_, err := w.store.WaiveCoverage(w.ctx, w.cursorID(h), march(1+r.IntN(6), 8+r.IntN(4)), ingest.Act{Actor: "tester", Reason: fmt.Sprint(step)})
			w.must(err)
		case n < 9:
			a, begun := w.beginEvents(h, w.clock.read().Add(-time.Duration(r.IntN(20))*time.Hour))
			if !begun {
				break
			}
			w.verified(h)
			if a.Status == retention.Writing {
				f, signed := w.writeEvents(shelf, a)
				w.must(w.store.SealEvents(w.ctx, a.ID, f, signed))
				archives, moved = archives+1, moved+f.Rows
			}
			w.refoldedAll(h, shelf)
			limit := 1 + r.IntN(5)
			if _, err := w.store.DeleteArchived(w.ctx, a.ID, limit); err != nil {
				w.Fatal(err)
			}
			w.refoldedAll(h, shelf)
			if r.IntN(3) > 0 { // else it stays half done, and history goes on
				w.emptied(a, limit, func() { w.refoldedAll(h, shelf) })
			}
		default:
			if work, err := w.store.Claim(w.ctx, w.request(h, 1)); err != nil {
				w.Fatal(err)
			} else if len(work) == 1 {
				w.start(work[0]).finish(outcomes[r.IntN(len(outcomes))])
			}
		}
		w.refoldedAll(h, shelf)
	}
	if archives == 0 {
		w.Fatalf("seed %d archived nothing", seed)
	}
	w.Logf("%d archives with %d events", archives, moved)
}

// refoldedAll checks I5 twice: from the snapshot, and from the first event on.
func (w *world) refoldedAll(h harvest, s *shelf) {
	w.Helper()
	w.verified(h)
	c, err := w.store.Cursor(w.ctx, w.cursorID(h))
	w.must(err)
	archives, err := w.store.ArchivesOf(w.ctx, c.ID)
	w.must(err)
	all, last := s.refold(w, ingest.CursorType(c.Type)), int64(0)
	if n := len(archives); n > 0 {
		last = archives[n-1].To
	}
	rows, err := w.store.EventRows(w.ctx, retention.Archive{CursorID: c.ID, From: last + 1, To: 1 << 60}, 0, 10000)
	w.must(err)
	for _, row := range rows {
		e, err := retention.ReadEntry(row, all.Line)
		w.must(err)
		all.Add(e)
	}
	for _, p := range all.Problems {
		w.Errorf("refold of everything: %s", p)
	}
	book := w.book(h)
	if !all.State.Cursor.Equal(book.Cursor) || !all.State.Origin.Equal(book.Origin) || !reflect.DeepEqual(all.State.Segments, book.Segments) && len(book.Segments) > 0 {
		w.Fatalf("files and ledger fold to\n%+v, stored is\n%+v", all.State, book)
	}
}
