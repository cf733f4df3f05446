package archive

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
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) eventArchives(t *testing.T) {
	h := fixture.Harvest{Days: 6, Lookback: fixture.Day}
	// Six days, one of them failed, an hour apart, and a plan of today.
	lived := func(w *world) time.Time {
		w.Helper()
		w.Plan(h)
		for _, o := range []ingest.Outcome{fixture.Succeeded, fixture.Succeeded, fixture.Failed, fixture.Succeeded, fixture.Succeeded} {
			w.Clock.Advance(time.Hour)
			w.Work(h, o)
		}
		w.Clock.Advance(time.Hour)
		cut := w.Clock.Read()
		w.Work(h, fixture.Succeeded)
		w.Verified(h)
		return cut
	}
	s.test(t, "a snapshot stands for the old events and the boundaries stay", func(w *world) {
		shelf, cut := fixture.NewShelf(), lived(w)
		before, book := w.Events(h), w.CoverageOf(h)
		a, begun := w.archiveEvents(shelf, h, cut)
		if !begun {
			w.Fatal("nothing was archived")
		}
		want := []coverage.Kind{coverage.Planned, coverage.Snapshot, coverage.Succeeded, coverage.Succeeded}
		if got := w.kinds(h); !reflect.DeepEqual(got, want) {
			w.Errorf("the ledger has %v, want %v: the first, the snapshot, the last before the cut and the rest", got, want)
		}
		after := w.Events(h)
		if after[0].ID != before[0].ID || after[1].ID != a.To || a.To != before[4].ID {
			w.Errorf("events %v", after)
		}
		if !reflect.DeepEqual(w.CoverageOf(h), book) {
			w.Error("the coverage changed")
		}
		verdict, err := w.Store.Verify(w.Ctx, w.CursorID(h))
		w.Must(err)
		if verdict.Events != 2 {
			w.Errorf("verify folded %d events, want those after the snapshot", verdict.Events)
		}
		if _, begun := w.beginEvents(h, cut); begun {
			w.Error("there is nothing more to move")
		}
	})
	s.test(t, "what people decided stays", func(w *world) {
		shelf := fixture.NewShelf()
		lived(w)
		for _, to := range []time.Time{fixture.Midnight(2), fixture.Midnight(3)} {
			w.Clock.Advance(time.Hour)
			_, err := w.Store.SetCursor(w.Ctx, w.CursorID(h), to, ingest.Act{Actor: "tester", Reason: to.String()})
			w.Must(err)
		}
		again := fixture.Harvest{Trigger: "again", First: 3, Days: 3, AsOf: fixture.Noon.Add(fixture.Day)}
		w.Plan(again)
		w.Clock.Advance(time.Hour)
		w.Work(again, fixture.Succeeded, fixture.Succeeded, fixture.Succeeded)
		w.Clock.Advance(time.Hour)
		w.archiveEvents(shelf, h, w.Clock.Read())
		want := []coverage.Kind{coverage.Planned, coverage.Manual, coverage.Manual, coverage.Snapshot, coverage.Succeeded}
		if got := w.kinds(h); !reflect.DeepEqual(got, want) {
			w.Errorf("the ledger has %v, want %v", got, want)
		}
		w.Verified(h)
	})
	s.test(t, "a ledger that is young or short is left alone", func(w *world) {
		w.Plan(h)
		w.Clock.Advance(time.Hour)
		w.Work(h, fixture.Succeeded)
		w.Unchanged("begin", func() {
			if _, begun := w.beginEvents(h, fixture.Noon); begun {
				w.Error("all is younger")
			}
			if _, begun := w.beginEvents(h, w.Clock.Read().Add(time.Hour)); begun {
				w.Error("the first and the last stay, and there is nothing between them")
			}
		})
	})
	s.test(t, "a file that is not what was decided is refused", func(w *world) {
		shelf, cut := fixture.NewShelf(), lived(w)
		a, _ := w.beginEvents(h, cut)
		f, signed := w.writeEvents(shelf, a)
		resigned := func(change func(*retention.Snapshot)) retention.Signed {
			s := signed.Snapshot
			change(&s)
			out, err := s.Sign()
			w.Must(err)
			return out
		}
		short := f
		short.Rows--
		other := f
		other.Name = a.FileName("other")
		w.Unchanged("seal", func() {
			for name, err := range map[string]error{
				"a file with fewer rows": w.Store.SealEvents(w.Ctx, a.ID, short, signed),
				"another previous":       w.Store.SealEvents(w.Ctx, a.ID, f, resigned(func(s *retention.Snapshot) { s.Previous = f.SHA256 })),
				"another end":            w.Store.SealEvents(w.Ctx, a.ID, f, resigned(func(s *retention.Snapshot) { s.To-- })),
				"another file":           w.Store.SealEvents(w.Ctx, a.ID, f, resigned(func(s *retention.Snapshot) { s.SHA256 = signed.Signature })),
			} {
				w.Refuses(err, fault.ErrInvalid, name)
			}
			signed.State.Cursor = signed.State.Cursor.Add(time.Hour)
			w.Refuses(w.Store.SealEvents(w.Ctx, a.ID, f, signed), fault.ErrInvalid, "a wrong signature")
			w.Refuses(w.Store.SealEvents(w.Ctx, a.ID, other, resigned(func(s *retention.Snapshot) { s.File = other.Name })), fault.ErrStale, "another attempt's file")
			_, err := w.Store.DeleteArchived(w.Ctx, a.ID, 10)
			w.Refuses(err, fault.ErrInvalid, "to delete before it is sealed")
			w.Refuses(w.Store.FinishArchive(w.Ctx, a.ID), fault.ErrInvalid, "to finish before it is sealed")
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
				w.Must(err)
				*s = again
			})
		},
		"the snapshot taken away": func(w *world, id int64) int64 {
			return w.Exec("DELETE FROM ing_cursor_event WHERE kind_code = 'SNAPSHOT'")
		},
		"the archive's row taken away": func(w *world, id int64) int64 { return w.Exec("DELETE FROM ing_archive") },
		"the hash in the archive's row": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_archive SET file_hash = signature")
		},
		"the chain of archives": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_archive SET prev_signature = file_hash")
		},
		"an event after the snapshot": func(w *world, id int64) int64 {
			return w.Exec("DELETE FROM ing_cursor_event WHERE id = ?", w.Number("SELECT MAX(id) FROM ing_cursor_event"))
		},
	} {
		s.test(t, "verify finds a change of "+name, func(w *world) {
			shelf, cut := fixture.NewShelf(), lived(w)
			w.archiveEvents(shelf, h, cut)
			if tamper(w, w.CursorID(h)) == 0 {
				w.Fatal("nothing was changed")
			}
			verdict, err := w.Store.Verify(w.Ctx, w.CursorID(h))
			w.Must(err)
			if len(verdict.Problems) == 0 {
				w.Error("verify found nothing")
			}
		})
	}
	s.test(t, "a cursor is not repaired from a snapshot that was changed", func(w *world) {
		shelf, cut := fixture.NewShelf(), lived(w)
		w.archiveEvents(shelf, h, cut)
		w.changeSnapshot(w.CursorID(h), func(s *retention.Signed) { s.State.Cursor = s.State.Cursor.Add(time.Hour) })
		w.Unchanged("repair", func() {
			_, err := w.Store.RepairCursor(w.Ctx, w.CursorID(h), fixture.Tester)
			w.Refuses(err, fault.ErrConflict, "repair")
		})
	})
	for seed := range uint64(4) {
		s.test(t, fmt.Sprintf("any history, cut anywhere, gives the same: seed %d", seed), func(w *world) { w.randomLedger(seed) })
	}
}

// changeSnapshot tampers with the snapshot of a ledger.
func (w *world) changeSnapshot(cursor int64, change func(*retention.Signed)) int64 {
	w.Helper()
	signed, err := retention.ReadSigned([]byte(w.Text("SELECT record_remarks FROM ing_cursor_event WHERE cursor_id = ? AND kind_code = 'SNAPSHOT'", cursor)))
	w.Must(err)
	change(&signed)
	text, err := json.Marshal(signed)
	w.Must(err)
	return w.Exec("UPDATE ing_cursor_event SET record_remarks = ?, idempotent_key = ? WHERE cursor_id = ? AND kind_code = 'SNAPSHOT'", string(text), signed.Signature, cursor)
}

// randomLedger lives through a random history and cuts its ledger at random
// points, at times only half way. In every committed state the refold of the
// snapshot and the rest, and that of the files and the rest, give what is stored.
func (w *world) randomLedger(seed uint64) {
	w.Helper()
	r, shelf := rand.New(rand.NewPCG(seed, 7)), fixture.NewShelf()
	h := fixture.Harvest{Days: 1}
	w.Plan(fixture.Harvest{Trigger: "first", First: 1 + r.IntN(10), Days: 2, Lookback: time.Duration(r.IntN(3)) * fixture.Day})
	outcomes := []ingest.Outcome{fixture.Succeeded, fixture.Succeeded, fixture.Succeeded, fixture.Failed, fixture.Cancelled, fixture.Partial}
	archives, moved := 0, int64(0)
	for step := range 45 {
		w.Clock.Advance(time.Duration(1+r.IntN(300)) * time.Minute)
		switch n := r.IntN(20); {
		case n < 4:
			w.Plan(fixture.Harvest{Trigger: fmt.Sprint(step), First: 1 + r.IntN(12), Days: 1 + r.IntN(4), AsOf: w.Clock.Read(), Lookback: time.Duration(r.IntN(3)) * fixture.Day})
		case n == 4:
			to := time.Time{}
			if r.IntN(3) > 0 {
				to = fixture.Midnight(1 + r.IntN(12))
			}
			_, err := w.Store.SetCursor(w.Ctx, w.CursorID(h), to, ingest.Act{Actor: "tester", Reason: fmt.Sprint(step)})
			w.Must(err)
		case n == 5:
			_, err := w.Store.WaiveCoverage(w.Ctx, w.CursorID(h), fixture.March(1+r.IntN(6), 8+r.IntN(4)), ingest.Act{Actor: "tester", Reason: fmt.Sprint(step)})
			w.Must(err)
		case n < 9:
			a, begun := w.beginEvents(h, w.Clock.Read().Add(-time.Duration(r.IntN(20))*time.Hour))
			if !begun {
				break
			}
			w.Verified(h)
			if a.Status == retention.Writing {
				f, signed := w.writeEvents(shelf, a)
				w.Must(w.Store.SealEvents(w.Ctx, a.ID, f, signed))
				archives, moved = archives+1, moved+f.Rows
			}
			w.refoldedAll(h, shelf)
			limit := 1 + r.IntN(5)
			if _, err := w.Store.DeleteArchived(w.Ctx, a.ID, limit); err != nil {
				w.Fatal(err)
			}
			w.refoldedAll(h, shelf)
			if r.IntN(3) > 0 { // else it stays half done, and history goes on
				w.Emptied(a, limit, func() { w.refoldedAll(h, shelf) })
			}
		default:
			if work, err := w.Store.Claim(w.Ctx, w.Request(h, 1)); err != nil {
				w.Fatal(err)
			} else if len(work) == 1 {
				w.Start(work[0]).Finish(outcomes[r.IntN(len(outcomes))])
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
func (w *world) refoldedAll(h fixture.Harvest, s *fixture.Shelf) {
	w.Helper()
	w.Verified(h)
	c, err := w.Store.Cursor(w.Ctx, w.CursorID(h))
	w.Must(err)
	archives, err := w.Store.ArchivesOf(w.Ctx, c.ID)
	w.Must(err)
	all, last := s.Refold(w.World, ingest.CursorType(c.Type)), int64(0)
	if n := len(archives); n > 0 {
		last = archives[n-1].To
	}
	rows, err := w.Store.EventRows(w.Ctx, retention.Archive{CursorID: c.ID, From: last + 1, To: 1 << 60}, 0, 10000)
	w.Must(err)
	for _, row := range rows {
		e, err := retention.ReadEntry(row, all.Line)
		w.Must(err)
		all.Add(e)
	}
	for _, p := range all.Problems {
		w.Errorf("refold of everything: %s", p)
	}
	book := w.CoverageOf(h)
	if !all.State.Cursor.Equal(book.Cursor) || !all.State.Origin.Equal(book.Origin) || !reflect.DeepEqual(all.State.Segments, book.Segments) && len(book.Segments) > 0 {
		w.Fatalf("files and ledger fold to\n%+v, stored is\n%+v", all.State, book)
	}
}
