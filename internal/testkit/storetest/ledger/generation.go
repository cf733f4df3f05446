package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// reading is an attempt at a slice that is a reading of a whole list.
type reading struct {
	*fixture.Attempt
	ingest.Generation
}

// read begins a reading of a list: the harvest of some days is its window.
func (w *world) read(h fixture.Harvest) reading {
	w.Helper()
	w.Plan(h)
	a := w.Begin(h)
	g, err := w.Store.OpenGeneration(w.Ctx, a.Work.Lineage.SliceID, "")
	w.Must(err)
	return reading{a, g}
}

// readUnit begins a reading of a window whose readings replace each other.
func (w *world) readUnit(h fixture.Harvest, unit string) reading {
	w.Helper()
	w.Plan(h)
	a := w.Begin(h)
	g, err := w.Store.OpenGeneration(w.Ctx, a.Work.Lineage.SliceID, unit)
	w.Must(err)
	return reading{a, g}
}

// seePage commits a page with ids.
func (r reading) seePage(pass int, ids ...string) {
	r.W.Helper()
	var items []record.Incoming
	var keys []record.Key
	for _, id := range ids {
		items = append(items, fixture.Item(id, "x", fixture.Midnight(2)))
		keys = append(keys, record.KeyOf(id))
	}
	page := r.Page(items...)
	page.Pass, page.SeenIDs = pass, &ingest.SeenIDs{Generation: r.ID, IDs: generation.PackIDs(keys), Unnamed: pass - 1}
	r.Store(page)
}

// end ends the reading with a verdict.
func (r reading) end(o ingest.Outcome, end ingest.GenerationEnd) {
	r.W.Helper()
	end.ID = r.ID
	finish := r.Ending(o)
	finish.Generation = &end
	r.W.Must(r.W.Store.FinishRun(r.W.Ctx, finish))
}

// kept are the generations that a reading is compared with, by id and state.
func (w *world) kept(r reading) (out []string) {
	w.Helper()
	all, err := w.Store.KeptGenerations(w.Ctx, r.ID)
	w.Must(err)
	for _, k := range all {
		out = append(out, fmt.Sprintf("%d %s %d of %d as of %s", k.ID, k.State, k.Items, k.IDs, k.AsOf.Format(time.DateOnly)))
	}
	return out
}

var shrunk = ingest.Outcome{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: string(fault.ShrunkList), Error: "SHRUNK: too little came"}

// days are harvests of one day each, one after the other.
func aDay(n int) fixture.Harvest {
	return fixture.Harvest{First: n, Days: 1, Trigger: fmt.Sprint("day ", n), AsOf: fixture.Midnight(n + 1)}
}

func (s suite) generations(t *testing.T) {
	s.test(t, "the ids of a reading are those of its committed pages", func(w *world) {
		r := w.read(aDay(1))
		if !r.AsOf.Equal(fixture.Midnight(2)) {
			w.Errorf("as of %s", r.AsOf)
		}
		r.seePage(1, "a", "b")
		page := r.Page(fixture.Item("c", "x", fixture.Midnight(2)))
		page.SeenIDs = &ingest.SeenIDs{Generation: r.ID, IDs: generation.PackIDs([]record.Key{record.KeyOf("c")})}
		page.Seen = 7 // does not add up: nothing of it is stored
		if _, err := w.Store.CommitBatch(w.Ctx, page); err == nil {
			w.Error("a batch that does not add up is stored")
		}
		r.seePage(2, "a")
		again, err := w.Store.OpenGeneration(w.Ctx, r.Work.Lineage.SliceID, "")
		if err != nil || again != r.Generation {
			w.Errorf("opened again %+v, want %+v: %v", again, r.Generation, err)
		}
		pages, err := w.Store.GenerationIDs(w.Ctx, r.ID, 0, 10)
		w.Must(err)
		if len(pages) != 2 || pages[0].Pass != 1 || len(pages[0].IDs) != 16 || pages[1].Pass != 2 || pages[1].Unnamed != 1 {
			w.Errorf("%+v", pages)
		}
		if rest, err := w.Store.GenerationIDs(w.Ctx, r.ID, pages[0].Batch, 10); err != nil || len(rest) != 1 {
			w.Errorf("behind the first: %+v %v", rest, err)
		}
	})
	s.test(t, "what vanished and is held back is told until a whole reading holds nothing", func(w *world) {
		told := func(want string) {
			w.Helper()
			all, err := w.Store.Doubts(w.Ctx, "crossref")
			w.Must(err)
			got := ""
			for _, d := range all {
				got += d.Held
			}
			if got != want {
				w.Errorf("told %q, want %q", got, want)
			}
		}
		one := w.read(aDay(1))
		one.seePage(1, "a", "b", "c")
		one.end(fixture.Succeeded, ingest.GenerationEnd{State: generation.Complete, Held: "too many"})
		told("too many")
		two := w.read(aDay(2))
		told("too many")
		two.end(shrunk, ingest.GenerationEnd{State: generation.Shrunk})
		told("too many")
		three := w.read(aDay(3))
		three.end(fixture.Succeeded, ingest.GenerationEnd{State: generation.Complete})
		told("")
	})
	s.test(t, "readings of a window are compared with those of the same window, of every operation", func(w *world) {
		again := aDay(1)
		again.Operation, again.Trigger = ingest.Backfill, "again"
		whole := w.read(aDay(4))
		whole.seePage(1, "z")
		whole.end(fixture.Succeeded, ingest.GenerationEnd{State: generation.Complete, Counts: generation.Counts{Items: 1}})
		one := w.readUnit(aDay(1), "2025-03-01")
		one.seePage(1, "a", "b")
		one.end(fixture.Succeeded, ingest.GenerationEnd{State: generation.Complete, Counts: generation.Counts{Items: 2}})
		other := w.readUnit(aDay(2), "2025-03-02")
		other.seePage(1, "c")
		if got := w.kept(other); len(got) != 0 {
			w.Errorf("another day is compared with %q", got)
		}
		other.end(shrunk, ingest.GenerationEnd{State: generation.Shrunk})
		two := w.readUnit(again, "2025-03-01")
		if !two.AsOf.Equal(w.Clock.Read()) {
			w.Errorf("as of %s, and was opened at %s", two.AsOf, w.Clock.Read())
		}
		if got := w.kept(two); len(got) != 1 || !strings.HasPrefix(got[0], fmt.Sprintf("%d COMPLETE 2 of ", one.ID)) {
			w.Errorf("compared with %q", got)
		}
		w.Exec("UPDATE ing_generation SET expr_id = expr_id + 1 WHERE id = ?", one.ID)
		if all, err := w.Store.KeptGenerations(w.Ctx, two.ID); err != nil || len(all) != 1 || !all[0].Other {
			w.Errorf("for another question: %+v %v", all, err)
		}
		_, err := w.Store.AcceptGeneration(w.Ctx, other.ID, w.By)
		w.Refuses(err, fault.ErrInvalid, "a reading of a window")
	})
	s.test(t, "readings past their time are removed, and none that is needed", func(w *world) {
		var all []reading
		for n := 1; n <= 5; n++ {
			r := w.read(aDay(n))
			r.seePage(1, "a")
			switch n {
			case 2:
				r.Finish(fixture.Failed)
			default:
				r.end(fixture.Succeeded, ingest.GenerationEnd{State: generation.Complete, Counts: generation.Counts{Items: 1}})
			}
			all = append(all, r)
		}
		sweep := func() string {
			w.Helper()
			for more := true; more; {
				var err error
				more, err = w.Store.SweepGenerations(w.Ctx)
				w.Must(err)
			}
			left := ""
			for n, r := range all {
				if w.Number("SELECT COUNT(*) FROM ing_generation WHERE id = ?", r.ID) == 1 {
					left += fmt.Sprint(n + 1)
				}
			}
			return left
		}
		w.Exec("UPDATE ing_generation SET is_kept = 0 WHERE id <> ?", all[3].ID) // the fourth is compared with
		if left := sweep(); left != "12345" {
			w.Errorf("young readings: %s are left", left)
		}
		w.Exec("UPDATE ing_generation SET created_at = created_at - ?", (401 * 24 * time.Hour).Microseconds())
		if left := sweep(); left != "245" {
			w.Errorf("%s are left, want the failed one, the one that is compared with, and the newest", left)
		}
	})
	s.test(t, "readings of one list know each other, and what is dropped is swept", func(w *world) {
		one := w.read(aDay(1))
		one.seePage(1, "a", "b", "c")
		one.end(fixture.Succeeded, ingest.GenerationEnd{State: generation.Complete, Counts: generation.Counts{Items: 3}})
		two := w.read(aDay(2))
		two.seePage(1, "a")
		two.Finish(fixture.Failed)
		three := w.read(aDay(3))
		want := []string{fmt.Sprintf("%d BROKEN 0 of 2 as of 2025-03-03", two.ID), fmt.Sprintf("%d COMPLETE 3 of 4 as of 2025-03-02", one.ID)}
		if got := w.kept(three); !slices.Equal(got, want) {
			w.Errorf("kept %q, want %q", got, want)
		}
		three.seePage(1, "a", "b")
		three.end(fixture.Succeeded, ingest.GenerationEnd{State: generation.Complete, Counts: generation.Counts{Items: 2, Last: 3, LastKept: 2, Vanished: 1}, Gone: 1, Drop: []int64{one.ID, two.ID}})
		for more := true; more; {
			var err error
			more, err = w.Store.SweepGenerations(w.Ctx)
			w.Must(err)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_generation_ids WHERE generation_id <> ?", three.ID); n != 0 {
			w.Errorf("%d pages are left", n)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_generation_ids"); n != 1 {
			w.Errorf("%d pages of the newest", n)
		}
		w.Unchanged("a try to go on with a reading whose ids are gone", func() {
			if again, err := w.Store.OpenGeneration(w.Ctx, two.Work.Lineage.SliceID, ""); err != nil || !again.Overtaken || again.ID != two.ID {
				w.Errorf("%+v %v", again, err)
			}
		})
		four := w.read(aDay(4))
		if got := w.kept(four); four.Overtaken || len(got) != 1 {
			w.Errorf("kept %q, overtaken %v", got, four.Overtaken)
		}
	})
	s.test(t, "records are found by the beginning of their hash", func(w *world) {
		w.Plan(aDay(1))
		a := w.Begin(aDay(1))
		a.Commit(fixture.Item("a", "x", fixture.Midnight(2)), fixture.Item("b", "x", fixture.Midnight(2)), fixture.Gone("dead", fixture.Midnight(2)))
		hashes := []uint64{generation.IDOf(record.KeyOf("b")), generation.IDOf(record.KeyOf("dead")), generation.IDOf(record.KeyOf("unknown"))}
		for i := range 250 {
			hashes = append(hashes, generation.IDOf(record.KeyOf(fmt.Sprint("other ", i))))
		}
		got, err := w.Store.ActiveByHash(w.Ctx, a.Work.DatasetID, append(hashes, generation.IDOf(record.KeyOf("a"))))
		w.Must(err)
		if slices.Sort(got); !slices.Equal(got, []string{"a", "b"}) {
			w.Errorf("%q", got)
		}
		for most, want := range map[int]int{1: 1, 2: 2, 100: 2} { // what is gone does not count
			if n, err := w.Store.CountActive(w.Ctx, a.Work.DatasetID, most); err != nil || n != want {
				w.Errorf("%d active records, at most %d: %v", n, most, err)
			}
		}
	})
	s.test(t, "what enough readings lack is gone at once, what was seen since is not", func(w *world) {
		w.Plan(aDay(1))
		a := w.Begin(aDay(1))
		a.Commit(fixture.Item("a", "x", fixture.Midnight(2)), fixture.Item("b", "x", fixture.Midnight(4)))
		page := a.Page()
		for _, id := range []string{"a", "b"} {
			page.Records = append(page.Records, record.Incoming{ProviderID: id, Missed: true, Confirmed: true, FetchAt: fixture.Midnight(3), MappingID: 1})
		}
		page.Seen = 0
		if stats := a.Store(page).Stats; stats.Gone != 1 || stats.Seen != 1 || !stats.Balanced() {
			w.Errorf("%+v", stats)
		}
		if state := w.Text("SELECT state_code FROM ing_record WHERE provider_id = ?", "a"); state != "GONE" {
			w.Error(state)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_outbox_message WHERE op_type = 'REMOVED'"); n != 1 {
			w.Errorf("%d events", n)
		}
	})
	s.test(t, "a person accepts the newest shrunk reading, and what was owed is done", func(w *world) {
		one := w.read(aDay(1))
		one.seePage(1, "a", "b", "c")
		one.end(fixture.Succeeded, ingest.GenerationEnd{State: generation.Complete, Counts: generation.Counts{Items: 3}})
		two := w.read(aDay(2))
		two.seePage(1, "a")
		two.end(shrunk, ingest.GenerationEnd{State: generation.Shrunk, Counts: generation.Counts{Items: 1, Last: 3, LastKept: 1}, Why: "too little came"})
		w.CursorAt(aDay(1), 2)
		_, err := w.Store.AcceptGeneration(w.Ctx, one.ID, w.By)
		w.Refuses(err, fault.ErrInvalid, "one that is complete")
		_, err = w.Store.AcceptGeneration(w.Ctx, 999, w.By)
		w.Refuses(err, fault.ErrNotFound, "one that is not there")
		rehearsal := w.By
		rehearsal.Rehearsal = true
		w.Unchanged("a rehearsal", func() {
			done, err := w.Store.AcceptGeneration(w.Ctx, two.ID, rehearsal)
			w.Must(err)
			if !done.DryRun || !done.Changed || len(done.Waived.Waived) != 1 {
				w.Errorf("%+v", done)
			}
		})
		done, err := w.Store.AcceptGeneration(w.Ctx, two.ID, w.By)
		w.Must(err)
		if !done.Changed || done.Items != 1 || !done.AsOf.Equal(fixture.Midnight(3)) {
			w.Errorf("%+v", done)
		}
		w.CursorAt(aDay(1), 3)
		w.Verified(aDay(1))
		if owed := coverage.Gaps(w.CoverageOf(aDay(1)).Segments, fixture.March(1, 3)); len(owed) != 0 {
			w.Errorf("still owed: %v", owed)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'coverage.accept' AND reason = ?", w.By.Reason); n != 1 {
			w.Errorf("%d entries", n)
		}
		w.Unchanged("a second time", func() {
			again, err := w.Store.AcceptGeneration(w.Ctx, two.ID, w.By)
			w.Must(err)
			if again.Changed {
				w.Errorf("%+v", again)
			}
		})
		three := w.read(aDay(3))
		if got := w.kept(three); len(got) != 2 || got[0] != fmt.Sprintf("%d ACCEPTED 1 of 2 as of 2025-03-03", two.ID) {
			w.Errorf("%q", got)
		}
		three.end(shrunk, ingest.GenerationEnd{State: generation.Shrunk})
		four := w.read(aDay(4))
		four.end(shrunk, ingest.GenerationEnd{State: generation.Shrunk, Base: three.ID})
		_, err = w.Store.AcceptGeneration(w.Ctx, three.ID, w.By)
		w.Refuses(err, fault.ErrInvalid, "one that is not the newest")
	})
}

// parts are a day's readings of a list that is asked for in sectors, one attempt for each.
func (w *world) parts(day int, sectors ...string) (out []reading) {
	w.Helper()
	h := aDay(day)
	h.Sectors = sectors
	w.Plan(h)
	for _, a := range w.startClaimed(h, len(sectors)) {
		g, err := w.Store.OpenGeneration(w.Ctx, a.Work.Lineage.SliceID, "")
		w.Must(err)
		out = append(out, reading{a, g})
	}
	return out
}

// judges reports whether a slice is the one that judges its reading.
func (r reading) judges() bool {
	r.W.Helper()
	judges, err := r.W.Store.JudgesReading(r.W.Ctx, r.Work.Lineage)
	r.W.Must(err)
	return judges
}

func (s suite) generationsInSectors(t *testing.T) {
	of := func(day int) fixture.Harvest {
		h := aDay(day)
		h.Sectors = []string{"set=a", "set=b", "set=c"}
		return h
	}
	stateOf := func(w *world, r reading) string {
		return w.Text("SELECT state_code FROM ing_generation WHERE id = ?", r.ID)
	}
	s.test(t, "a list in sectors has one reading, and its last slice judges it", func(w *world) {
		parts := w.parts(1, "set=a", "set=b", "set=c")
		for i, r := range parts {
			if r.Generation != parts[0].Generation {
				w.Fatalf("slice %d belongs to %+v, the first one to %+v", i, r.Generation, parts[0].Generation)
			}
			r.seePage(1, "a", fmt.Sprint("b", i))
		}
		for _, r := range parts[:2] {
			if r.judges() {
				w.Error("a slice judges while others are open")
			}
			w.Must(w.Store.FinishRun(w.Ctx, r.Ending(fixture.Succeeded)))
			if state := stateOf(w, r); state != string(generation.Reading) {
				w.Errorf("the reading is %s while a slice of it is open", state)
			}
		}
		last := parts[2]
		if !last.judges() {
			w.Error("the last slice does not judge")
		}
		w.Unchanged("an end of the last slice without a verdict", func() {
			w.Refuses(w.Store.FinishRun(w.Ctx, last.Ending(fixture.Succeeded)), fault.ErrUnjudged, "the end")
		})
		pages, err := w.Store.GenerationIDs(w.Ctx, last.ID, 0, 10)
		w.Must(err)
		if len(pages) != 3 || pages[2].Slice != last.Work.Lineage.SliceID || pages[0].Slice == pages[1].Slice {
			w.Errorf("%+v", pages)
		}
		last.end(fixture.Succeeded, ingest.GenerationEnd{State: generation.Complete, Counts: generation.Counts{Items: 4}})
		w.CursorAt(of(1), 2)
		if state := stateOf(w, last); state != string(generation.Complete) {
			w.Error(state)
		}
	})
	s.test(t, "a reading that lacks a sector is broken, and nobody lags alone", func(w *world) {
		parts := w.parts(1, "set=a", "set=b", "set=c")
		for _, r := range parts {
			r.seePage(1, "a")
		}
		parts[1].Finish(fixture.Failed)
		parts[0].Finish(fixture.Succeeded)
		if parts[2].judges() {
			w.Error("a reading that lacks a sector is judged")
		}
		parts[2].Finish(fixture.Succeeded)
		if state := stateOf(w, parts[0]); state != string(generation.Broken) {
			w.Error(state)
		}
		w.CursorAt(of(1), 1)
		if got := w.lags(of(1)); got != "" {
			w.Error(got)
		}
		next := w.parts(2, "set=a", "set=b", "set=c")
		if got := w.kept(next[0]); len(got) != 1 || next[0].ID == parts[0].ID {
			w.Errorf("kept %q", got)
		}
	})
	s.test(t, "of slices that end at once one is told to judge", func(w *world) {
		parts := w.parts(1, "set=a", "set=b", "set=c", "set=d", "set=e", "set=f")
		handles := w.Handles(3)
		var told atomic.Int64
		w.Together(len(parts), func(i int) error {
			err := handles[i%len(handles)].FinishRun(w.Ctx, parts[i].Ending(fixture.Succeeded))
			if errors.Is(err, fault.ErrUnjudged) {
				told.Add(1)
				return nil
			}
			return err
		})
		if told.Load() != 1 {
			w.Errorf("%d slices are told to judge", told.Load())
		}
		if state := stateOf(w, parts[0]); state != string(generation.Reading) {
			w.Error(state)
		}
	})
}

func lossyGenerations() []lossy {
	return []lossy{
		{"open generation", "open generation", func(w *world) func() (answer, error) {
			w.Plan(aDay(1))
			a := w.Begin(aDay(1))
			return func() (answer, error) {
				g, err := w.Store.OpenGeneration(w.Ctx, a.Work.Lineage.SliceID, "")
				return g.AsOf, err
			}
		}},
		{"open generation", "open generation of a window", func(w *world) func() (answer, error) {
			w.Plan(aDay(1))
			a := w.Begin(aDay(1))
			return func() (answer, error) {
				_, err := w.Store.OpenGeneration(w.Ctx, a.Work.Lineage.SliceID, "2025-03-01")
				return nil, err
			}
		}},
		{"accept generation", "accept generation", func(w *world) func() (answer, error) {
			r := w.read(aDay(1))
			r.seePage(1, "a")
			r.end(shrunk, ingest.GenerationEnd{State: generation.Shrunk})
			return func() (answer, error) {
				done, err := w.Store.AcceptGeneration(w.Ctx, r.ID, w.By)
				return done.AsOf, err
			}
		}},
		{"sweep generations", "sweep generations", func(w *world) func() (answer, error) {
			r := w.read(aDay(1))
			r.seePage(1, "a")
			r.end(fixture.Succeeded, ingest.GenerationEnd{State: generation.Complete, Drop: []int64{r.ID}})
			return func() (answer, error) { _, err := w.Store.SweepGenerations(w.Ctx); return nil, err }
		}},
	}
}
