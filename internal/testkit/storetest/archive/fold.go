package archive

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// fold moves all versions into frames, a few at a time.
func (w *world) fold(limit int) (sum retention.Folded) {
	w.Helper()
	upto, err := w.Store.FoldUpto(w.Ctx, time.Minute)
	w.Must(err)
	for !sum.End {
		done, err := w.Store.FoldBodies(w.Ctx, upto, limit)
		w.Must(err)
		sum.Add(done)
	}
	return sum
}

// repack joins all small frames, looking at a few at a time.
func (w *world) repack(limit int) (sum retention.Folded) {
	w.Helper()
	upto, err := w.Store.FoldUpto(w.Ctx, time.Minute)
	w.Must(err)
	for !sum.End {
		done, err := w.Store.RepackFrames(w.Ctx, upto, limit)
		w.Must(err)
		sum.Add(done)
	}
	return sum
}

// checked runs the parts of a check that look at versions and records.
func (w *world) checked() (found []integrity.Damage) {
	w.Helper()
	var proven integrity.Proven
	for at, end := int64(0), false; !end; {
		part, next, err := w.Store.CheckBodies(w.Ctx, at, &proven)
		w.Must(err)
		found, at, end = append(found, part.Found...), next, part.End
	}
	var key []byte
	for dataset, end := int64(0), false; !end; {
		part, of, next, err := w.Store.CheckHeads(w.Ctx, dataset, key, &proven)
		w.Must(err)
		found, dataset, key, end = append(found, part.Found...), of, next, part.End
	}
	return found
}

// lived is what a version must read back as.
type lived struct {
	item, fields string
	gone         bool
}

// history is what a database must hold: versions by record, oldest first, each with
// its number.
type history map[string][]struct {
	version int
	lived
}

func (h history) add(id string, v lived) {
	next := 1
	if n := len(h[id]); n > 0 {
		next = h[id][n-1].version + 1
	}
	h[id] = append(h[id], struct {
		version int
		lived
	}{next, v})
}

// holds compares a database with a history, by every way that reads versions.
func (w *world) holds(h history, what string) {
	w.Helper()
	upto := w.Mark()
	exported := w.Exported(0, upto)
	if len(exported) != len(h) {
		w.Errorf("%s: %d records are exported of %d", what, len(exported), len(h))
	}
	counted, err := w.Store.CountExported(w.Ctx, export.Range{DatasetID: upto.DatasetID, Upto: upto.Batch})
	w.Must(err)
	if counted != int64(len(h)) {
		w.Errorf("%s: %d records are counted of %d", what, counted, len(h))
	}
	for id, want := range h {
		newest := want[len(want)-1]
		if got := exported[id]; got.Version != newest.version || got.Gone != newest.gone || got.Payload != newest.item || got.Fields != newest.fields {
			w.Errorf("%s: record %s is exported as %.200s, want %.200s", what, id, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", newest))
		}
		head, body, err := w.Store.Head(w.Ctx, view.Dataset{ID: upto.DatasetID}, id)
		w.Must(err)
		if head.Version != newest.version {
			w.Errorf("%s: record %s has version %d, want %d", what, id, head.Version, newest.version)
		}
		versions, err := w.Store.VersionsOf(w.Ctx, body, 1000)
		w.Must(err)
		oldest, err := w.Store.OldestOf(w.Ctx, body)
		w.Must(err)
		if len(versions) != len(want) || oldest != want[0].version {
			w.Errorf("%s: record %s has %d versions from %d on, want %d from %d on", what, id, len(versions), oldest, len(want), want[0].version)
			continue
		}
		for i, v := range versions {
			if was := want[len(want)-1-i]; v.Version != was.version || string(v.Raw) != was.item || string(v.Fields) != was.fields {
				w.Errorf("%s: version %d of %s is %.80q %.80q, want %.200s", what, v.Version, id, v.Raw, v.Fields, fmt.Sprintf("%+v", was))
			}
		}
	}
	if found := w.checked(); len(found) > 0 {
		w.Errorf("%s: the check finds %+v", what, found)
	}
}

// framing holds a store to this: where a version stands makes no difference.
func (s suite) framing(t *testing.T) {
	histories := uint64(2) // and more in a proof
	if os.Getenv("PATRA_PROOF") != "" {
		histories = 10
	}
	for seed := range histories {
		s.test(t, fmt.Sprintf("a random history reads back, %d", seed), func(w *world) { w.liveRandomly(rand.New(rand.NewPCG(seed, 90))) })
	}
	h := fixture.Harvest{Days: 1}
	s.test(t, "a database of rows is folded step by step and always reads the same", func(w *world) {
		w.FrameLeast(-1)
		w.Plan(h)
		a := w.Begin(h)
		want := history{}
		for round := range 4 {
			var page []record.Incoming
			for i := range 40 {
				if i%(round+1) == 0 {
					page = append(page, want.item(fmt.Sprintf("r%02d", i), round, 2000, fixture.Noon))
				}
			}
			a.Commit(page...)
		}
		w.holds(want, "in rows")
		before := len(w.Versions())
		upto, err := w.Store.FoldUpto(w.Ctx, time.Minute)
		w.Must(err)
		var sum retention.Folded
		for !sum.End {
			done, err := w.Store.FoldBodies(w.Ctx, upto, 11)
			w.Must(err)
			sum.Add(done)
			w.holds(want, fmt.Sprintf("after %d versions", sum.Versions))
		}
		if rows := w.Number("SELECT COUNT(*) FROM ing_record_body"); rows != 0 || sum.Versions != int64(before) || len(w.Versions()) != before {
			w.Errorf("%d rows are left, %+v", rows, sum)
		}
		if frames := w.Number("SELECT COUNT(*) FROM ing_body_frame"); frames != sum.Frames || frames > 5 {
			w.Errorf("%d frames for 300 KB: %+v", frames, sum)
		}
		if sum.After*3 > sum.Before {
			w.Errorf("%d bytes became %d", sum.Before, sum.After)
		}
		if n, err := w.Store.FoldWaiting(w.Ctx, 10); n != 0 || err != nil {
			w.Errorf("%d versions wait, %v", n, err)
		}
		w.Unchanged("folding once more", func() { w.fold(100) })
	})
	s.test(t, "rows between frames are joined to the frame before them", func(w *world) {
		w.FrameLeast(0)
		w.Plan(h)
		a := w.Begin(h)
		want := history{}
		for round := range 6 {
			size := 3000
			if round%2 == 1 {
				size = 10
			}
			var page []record.Incoming
			for i := range 30 {
				page = append(page, want.item(fmt.Sprintf("r%02d", i), round, size, fixture.Noon.Add(time.Duration(round)*time.Hour)))
			}
			a.Commit(page...)
		}
		if rows := w.Number("SELECT COUNT(*) FROM ing_record_body"); rows != 90 {
			w.Fatalf("%d rows, expected those of three small batches", rows)
		}
		w.holds(want, "before")
		w.fold(7)
		w.holds(want, "after")
		if rows := w.Number("SELECT COUNT(*) FROM ing_record_body"); rows != 0 {
			w.Errorf("%d rows are left", rows)
		}
		w.apart()
	})
	s.test(t, "what is damaged or very large stays a row", func(w *world) {
		w.FrameLeast(-1)
		w.Plan(h)
		a := w.Begin(h)
		want := history{}
		a.Commit(want.item("a", 0, 100, fixture.Noon), want.item("b", 0, 100, fixture.Noon), want.item("c", 0, 100, fixture.Noon), want.item("large", 0, bodies.FrameMost+1, fixture.Noon))
		key := record.KeyOf("b")
		w.Exec("UPDATE ing_record_body SET fetch_at = fetch_at + 1 WHERE id_hash = ?", key[:])
		sum := w.fold(100)
		if sum.Versions != 2 || sum.Large != 1 || len(sum.Damaged) != 1 || !strings.Contains(sum.Damaged[0], "patra db check") {
			w.Errorf("%+v", sum)
		}
		w.Exec("UPDATE ing_record_body SET fetch_at = fetch_at - 1 WHERE id_hash = ?", key[:]) // a copy was restored
		w.holds(want, "after")
		a.Commit(want.item("a", 1, 100, fixture.Noon.Add(time.Hour)))
		w.fold(100)
		w.holds(want, "after another batch")
		w.apart()
	})
	s.test(t, "an export that is under way when versions are folded has each once", func(w *world) {
		w.FrameLeast(-1)
		w.Plan(h)
		a := w.Begin(h)
		want := history{}
		for round := range 3 {
			var page []record.Incoming
			for i := range 25 {
				page = append(page, want.item(fmt.Sprintf("r%02d", i*(round+1)), round, 500, fixture.Noon))
			}
			a.Commit(page...)
		}
		upto, err := w.Store.FoldUpto(w.Ctx, time.Minute)
		w.Must(err)
		got, err := fixture.ExportRange(w.World, w.Store, 0, w.Mark(), func() {
			_, err := w.Store.FoldBodies(w.Ctx, upto, 9)
			w.Must(err)
		})
		w.Must(err)
		if len(got) != len(want) {
			w.Errorf("%d records of %d", len(got), len(want))
		}
	})
	s.repacking(t)
	s.damagedFrames(t)
	s.damagedPrune(t)
	s.healing(t)
}

// item makes a record of a round and notes it. What was stored before is replaced.
func (h history) item(id string, round, size int, at time.Time) record.Incoming {
	fields := fmt.Sprintf(`{"round":%d,"title":"%s"}`, round, id)
	in := fixture.Fetched(id, fmt.Sprintf(`{"id":"%s","round":%d,"text":"%s"}`, id, round, fixture.Long("x y ", size/4)), at.Add(time.Duration(round)*time.Hour))
	in.Fields = []byte(fields)
	h.add(id, lived{item: string(in.Payload), fields: fields})
	return in
}

// apart holds frames to ranges that do not overlap.
func (w *world) apart() {
	w.Helper()
	if n := w.Number("SELECT COUNT(*) FROM ing_body_frame a JOIN ing_body_frame b ON a.frame_id < b.frame_id AND a.last_body_id >= b.frame_id"); n != 0 {
		w.Errorf("%d pairs of frames overlap", n)
	}
}

// liveRandomly inserts, changes, removes, prunes, folds, repacks and exports at random, through
// stores that write rows, frames, or what fits, and compares with a map in memory.
func (w *world) liveRandomly(dice *rand.Rand) {
	h := fixture.Harvest{Days: 1}
	w.Plan(h)
	a := w.Begin(h)
	want := history{}
	at := fixture.Noon
	for step := range 60 {
		at = at.Add(time.Minute)
		switch choice := dice.IntN(10); {
		case choice < 6:
			w.FrameLeast([]int{-1, 0, 1}[dice.IntN(3)])
			var page []record.Incoming
			for _, n := range dice.Perm(60)[:1+dice.IntN(40)] {
				id := fmt.Sprintf("r%02d", n)
				versions := want[id]
				if len(versions) > 0 && !versions[len(versions)-1].gone && dice.IntN(6) == 0 {
					gone := fixture.Gone(id, at)
					gone.FetchAt = at
					want.add(id, lived{gone: true})
					page = append(page, gone)
					continue
				}
				size := dice.IntN(300)
				if dice.IntN(20) == 0 {
					size = dice.IntN(90_000)
				}
				in := fixture.Fetched(id, fmt.Sprintf("%d %s", step, fixture.Long("lorem ", size/6)), at)
				if in.Fields = nil; dice.IntN(3) > 0 {
					in.Fields = fmt.Appendf(nil, `{"step":%d}`, step)
				}
				want.add(id, lived{item: string(in.Payload), fields: string(in.Fields)})
				page = append(page, in)
			}
			a.Commit(page...)
		case choice < 7:
			w.fold(1 + dice.IntN(200))
			w.apart()
		case choice < 8:
			w.repack(3 + dice.IntN(60))
			w.apart()
		default:
			w.Exec("DELETE FROM ing_outbox_message")
			keep := 1 + dice.IntN(3)
			w.PruneVersions(at.Add(time.Hour), keep)
			for id, versions := range want {
				want[id] = versions[max(0, len(versions)-keep):]
			}
		}
		if step%6 == 0 || step == 59 {
			w.holds(want, fmt.Sprintf("step %d", step))
		}
		if w.Failed() {
			w.Fatalf("at step %d", step)
		}
	}
	w.apart()
}
