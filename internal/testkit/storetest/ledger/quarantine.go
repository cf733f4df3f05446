package ledger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// bad is a rejected item; its raw bytes are its own.
func bad(id string, reason record.Reason, path string, fetched time.Time) record.Reject {
	return record.Reject{ProviderID: id, Reason: reason, Path: path, Detail: "why " + id, Raw: []byte(`{"id":"` + id + `"}`), FetchAt: fetched}
}

// lives tells the state, tries and sightings of every row, in order.
func (w *world) lives(want ...string) {
	w.Helper()
	all, err := w.Store.RejectList(w.Ctx, view.RejectFilter{Limit: 1000})
	w.Must(err)
	var got []string
	for _, r := range all {
		got = append(got, fmt.Sprintf("%s %s %s tries %d seen %d", r.ProviderID, r.Reason, r.Status, r.Attempts, r.Seen))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("quarantine holds\n%q, want\n%q", got, want)
	}
}

func (w *world) rejectRow(id string) int64 {
	w.Helper()
	return w.Number("SELECT MIN(id) FROM ing_quarantine WHERE provider_id = ?", id)
}

func (w *world) putBack(h fixture.Harvest) ingest.RejectsDone {
	w.Helper()
	done, _, err := w.Store.RequeueRejects(w.Ctx, ingest.RejectPick{Dataset: h.Partition().Dataset}, w.By)
	w.Must(err)
	return done
}

func (s suite) quarantine(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "items that are put back and read well are settled", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		first := a.Store(a.WithRejects(bad("a", record.MissingField, "$.title", fixture.Noon), bad("b", record.MissingField, "$.title", fixture.Noon), bad("c", record.BadUpdatedAt, "$.d", fixture.Noon))).BatchID
		if done := w.putBack(h); done.Changed != 3 {
			w.Errorf("%+v", done)
		}
		if again := w.putBack(h); again.Changed != 0 {
			w.Errorf("%+v", again)
		}
		spec := refresh.Spec{Policy: refresh.ByQuarantine}
		open, err := w.Store.Candidates(w.Ctx, ingest.CandidateQuery{Dataset: h.Partition().Dataset, Spec: spec})
		w.Must(err)
		if open.Count != 3 || !open.Exact || open.To-open.From != 3 {
			w.Errorf("%+v", open)
		}
		look, err := w.Store.LookAtCandidates(w.Ctx, ingest.CandidateLook{DatasetID: w.datasetID(h), Spec: spec, From: fmt.Sprint(open.From), To: fmt.Sprint(open.To)})
		w.Must(err)
		if len(look.Found) != 3 || !look.Last || look.Found[0].Batch != first || string(look.Found[0].Reject.Item) != `{"id":"a"}` || !look.Found[0].FetchAt.Equal(fixture.Noon) {
			w.Fatalf("%+v", look)
		}
		mended := fixture.Item("a", "x", fixture.Midnight(2))
		mended.FetchAt = fixture.Noon
		wrong := bad("b", record.BadUpdatedAt, "$.other", fixture.Noon)
		wrong.Row = w.rejectRow("b")
		same := bad("c", record.BadUpdatedAt, "$.d", fixture.Noon)
		same.Row = w.rejectRow("c")
		page := a.Reread([]int64{w.rejectRow("a")}, mended)
		page.Rejects, page.Seen = []record.Reject{wrong, same}, 3
		batch := a.Store(page).BatchID
		w.lives("a MISSING_FIELD RESOLVED tries 1 seen 1", "b BAD_UPDATED_AT OPEN tries 1 seen 1", "c BAD_UPDATED_AT OPEN tries 1 seen 1")
		one, err := w.Store.RejectItem(w.Ctx, w.rejectRow("a"))
		w.Must(err)
		if one.JudgedBy != batch || one.BatchID != first || string(one.RawBytes) != `{"id":"a"}` {
			w.Errorf("%+v", one)
		}
		box, err := w.Store.RejectItem(w.Ctx, w.rejectRow("b"))
		w.Must(err)
		if box.Path != "$.other" || box.BatchID != first || box.JudgedBy != batch {
			w.Errorf("%+v", box)
		}
	})
	s.test(t, "what nobody can read is open again, with why", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Store(a.WithRejects(bad("a", record.BadItem, "", fixture.Noon)))
		w.putBack(h)
		page := a.Page()
		page.Refreshed = &ingest.Refreshed{Unread: []int64{w.rejectRow("a")}, Why: "not kept"}
		a.Store(page)
		w.lives("a BAD_ITEM OPEN tries 1 seen 1")
		if note := w.Text("SELECT note FROM ing_quarantine"); note != "not kept" {
			w.Error(note)
		}
	})
	s.test(t, "two items that turn out to be rejected alike stay one", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		one, other := bad("a", record.MissingField, "$.x", fixture.Noon), bad("a", record.MissingField, "$.y", fixture.Noon)
		a.Store(a.WithRejects(one, other))
		w.putBack(h)
		one.Row = w.rejectRow("a")
		one.Path = "$.y" // what stands in the other row
		page := a.Reread(nil)
		page.Rejects, page.Seen = []record.Reject{one}, 1
		a.Store(page)
		w.lives("a MISSING_FIELD RESOLVED tries 1 seen 1", "a MISSING_FIELD REQUEUED tries 0 seen 2")
	})
	s.test(t, "items of one page that turn out to be alike are one row", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		x, y, z := bad("a", record.MissingField, "$.x", fixture.Noon), bad("a", record.MissingField, "$.y", fixture.Noon), bad("a", record.MissingField, "$.z", fixture.Noon)
		a.Store(a.WithRejects(x, y, z))
		first := w.rejectRow("a")
		_, _, err := w.Store.RequeueRejects(w.Ctx, ingest.RejectPick{IDs: []int64{first + 1, first + 2}}, w.By)
		w.Must(err)
		var page []record.Reject
		for row := first; row < first+3; row++ { // the first of them was not put back
			now := bad("a", record.BadItem, "$", fixture.Noon)
			now.Row = row
			page = append(page, now)
		}
		again := a.Reread(nil)
		again.Rejects, again.Seen = page, 3
		a.Store(again)
		w.lives("a MISSING_FIELD OPEN tries 0 seen 1", "a BAD_ITEM OPEN tries 1 seen 2", "a MISSING_FIELD RESOLVED tries 1 seen 1")
	})
	s.test(t, "a row that one answer is about twice is judged in order", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Store(a.WithRejects(bad("a", record.BadItem, "$.x", fixture.Noon), bad("b", record.BadItem, "$.x", fixture.Noon)))
		w.putBack(h)
		answer := fixture.Noon.Add(time.Hour)
		page := a.WithRejects(
			bad("a", record.BadItem, "$.x", answer), bad("a", record.BadItem, "$.y", answer), // as it was, and a second item of the same id
			bad("b", record.BadUpdatedAt, "$.d", answer), bad("b", record.BadItem, "$.x", answer), // another reason, then the one that it had
		)
		page.Refreshed = &ingest.Refreshed{Failed: []string{"a", "b"}, At: answer}
		a.Store(page)
		w.lives("a BAD_ITEM OPEN tries 1 seen 1", "b BAD_UPDATED_AT OPEN tries 1 seen 1", "a BAD_ITEM OPEN tries 0 seen 1", "b BAD_ITEM OPEN tries 0 seen 1")
	})
	s.test(t, "a page of many rejects meets rows in every state", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		var page []record.Reject
		for i := range 450 { // more than two questions
			page = append(page, bad(fmt.Sprintf("r%03d", i), record.BadItem, "", fixture.Noon))
		}
		a.Store(a.WithRejects(page[:300]...))
		first := w.rejectRow("r000")
		_, _, err := w.Store.DiscardRejects(w.Ctx, ingest.RejectPick{IDs: []int64{first}}, w.By)
		w.Must(err)
		_, _, err = w.Store.RequeueRejects(w.Ctx, ingest.RejectPick{IDs: []int64{first + 1}}, w.By)
		w.Must(err)
		came := fixture.Item("r002", "x", fixture.Midnight(2))
		came.FetchAt = fixture.Noon.Add(time.Minute)
		a.Commit(came)
		for i := range page {
			page[i].FetchAt = fixture.Noon.Add(time.Hour)
		}
		page[299].FetchAt = fixture.Noon.Add(-time.Hour) // an answer that came late
		if got := a.Store(a.WithRejects(append(page, page...)...)).Stats; got.Quarantined != 900 {
			w.Errorf("%+v", got)
		}
		w.quarantined(450)
		asked, late := fixture.Noon.Add(time.Hour).UnixMicro(), fixture.Noon.UnixMicro()
		for _, c := range []struct {
			where string
			args  []any
			want  int64
		}{
			{"id = ? AND status_code = 'DISCARDED'", []any{first}, 1},
			{"id = ? AND status_code = 'REQUEUED'", []any{first + 1}, 1},
			{"id = ? AND status_code = 'OPEN'", []any{first + 2}, 1},
			{"id < ? AND seen_count = 2 AND fetch_at = ?", []any{first + 299, asked}, 299},
			{"id = ? AND seen_count = 2 AND fetch_at = ?", []any{first + 299, late}, 1},
			{"id > ? AND seen_count = 1 AND fetch_at = ? AND status_code = 'OPEN'", []any{first + 299, asked}, 150},
		} {
			if n := w.Number("SELECT COUNT(*) FROM ing_quarantine WHERE "+c.where, c.args...); n != c.want {
				w.Errorf("%d rows where %s %v, want %d", n, c.where, c.args, c.want)
			}
		}
	})
	s.test(t, "a look at large items takes few, and the next goes on", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		for _, id := range []string{"a", "b", "c"} {
			large := bad(id, record.BadItem, "", fixture.Noon)
			large.Raw = []byte(id + strings.Repeat(" ", 9<<20))
			a.Store(a.WithRejects(large))
		}
		w.putBack(h)
		look := ingest.CandidateLook{DatasetID: w.datasetID(h), Spec: refresh.Spec{Policy: refresh.ByQuarantine}, From: "0", To: "1000"}
		var got []string
		for last := false; !last; {
			page, err := w.Store.LookAtCandidates(w.Ctx, look)
			w.Must(err)
			got = append(got, fmt.Sprint(len(page.Found)))
			look.After, last = page.Next, page.Last
		}
		if fmt.Sprint(got) != "[2 1]" {
			w.Errorf("looks took %v", got)
		}
	})
	s.test(t, "an item that goes from one reason to another and back is never settled by itself", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		x, y := bad("a", record.MissingField, "$.x", fixture.Noon), bad("a", record.MissingField, "$.y", fixture.Noon)
		a.Store(a.WithRejects(x, y))
		rows := []int64{w.rejectRow("a"), w.rejectRow("a") + 1}
		reread := func(reject record.Reject, row int64) {
			w.putBack(h)
			reject.Row = row
			page := a.Reread(nil)
			page.Rejects, page.Seen = []record.Reject{reject}, 1
			a.Store(page)
		}
		reread(y, rows[0])
		reread(y, rows[1])
		w.lives("a MISSING_FIELD RESOLVED tries 1 seen 1", "a MISSING_FIELD OPEN tries 1 seen 2")
		reread(x, rows[1])
		w.lives("a MISSING_FIELD OPEN tries 1 seen 2", "a MISSING_FIELD RESOLVED tries 2 seen 2")
	})
	s.test(t, "junk stays junk, and what was settled is open when it is rejected again", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		junk, settled := bad("junk", record.BadItem, "", fixture.Noon), bad("settled", record.BadItem, "", fixture.Noon)
		a.Store(a.WithRejects(junk, settled))
		if _, _, err := w.Store.DiscardRejects(w.Ctx, ingest.RejectPick{IDs: []int64{w.rejectRow("junk")}}, w.By); err != nil {
			w.Fatal(err)
		}
		came := fixture.Item("settled", "x", fixture.Midnight(2))
		came.FetchAt = fixture.Noon.Add(time.Hour)
		a.Commit(came)
		w.lives("junk BAD_ITEM DISCARDED tries 0 seen 1", "settled BAD_ITEM RESOLVED tries 0 seen 1")
		a.Store(a.WithRejects(junk, settled)) // an answer that came late
		w.lives("junk BAD_ITEM DISCARDED tries 0 seen 2", "settled BAD_ITEM RESOLVED tries 0 seen 2")
		junk.FetchAt, settled.FetchAt = fixture.Noon.Add(2*time.Hour), fixture.Noon.Add(2*time.Hour)
		a.Store(a.WithRejects(junk, settled))
		w.lives("junk BAD_ITEM DISCARDED tries 0 seen 3", "settled BAD_ITEM OPEN tries 0 seen 3")
		if done := w.putBack(h); done.Changed != 1 {
			w.Errorf("%+v", done)
		}
	})
	s.test(t, "a record that comes well settles what was rejected of it before, and only that", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("old", "new", fixture.Midnight(9)))
		a.Store(a.WithRejects(bad("came", record.BadItem, "", fixture.Noon), bad("later", record.BadItem, "", fixture.Midnight(30)), bad("old", record.BadItem, "", fixture.Noon.Add(-fixture.Day)), bad("", record.MissingID, "", fixture.Noon)))
		var page []record.Incoming
		for i := range 250 { // more than two statements
			page = append(page, fixture.Item(fmt.Sprint("r", i), "x", fixture.Midnight(2)))
		}
		came, later, old := fixture.Item("came", "x", fixture.Midnight(2)), fixture.Item("later", "x", fixture.Midnight(2)), fixture.Item("old", "older", fixture.Midnight(2))
		came.FetchAt, later.FetchAt, old.FetchAt = fixture.Noon.Add(time.Hour), fixture.Noon.Add(time.Hour), fixture.Noon.Add(time.Hour)
		if stats := a.Commit(append(page, came, later, old)...).Stats; stats.Stale != 1 {
			w.Errorf("%+v", stats)
		}
		w.lives("came BAD_ITEM RESOLVED tries 0 seen 1", "later BAD_ITEM OPEN tries 0 seen 1", "old BAD_ITEM OPEN tries 0 seen 1", " MISSING_ID OPEN tries 0 seen 1")
	})
	s.test(t, "what is rejected once more while its record is stored stays open", func(w *world) {
		if w.Store.Dialect() == "sqlite" {
			w.Skip("one writer at a time")
		}
		w.Plan(h)
		a := w.Begin(h)
		a.Store(a.WithRejects(bad("a", record.BadItem, "", fixture.Noon)))
		later, err := w.DB.SQL.BeginTx(w.Ctx, nil) // another page, of an answer that was asked for later
		w.Must(err)
		defer later.Rollback()
		_, err = later.ExecContext(w.Ctx, "UPDATE ing_quarantine SET fetch_at = ? WHERE id = ?", fixture.Noon.Add(time.Hour).UnixMicro(), w.rejectRow("a"))
		w.Must(err)
		came := fixture.Item("a", "x", fixture.Midnight(2))
		came.FetchAt = fixture.Noon.Add(time.Minute)
		done, other := make(chan error, 1), w.Handle()
		go func() {
			_, err := fixture.CommitWith(other, a, []record.Incoming{came})
			done <- err
		}()
		w.WaitForStatement("UPDATE ing_quarantine") // it is held up by the row
		w.Must(later.Commit())
		w.Must(<-done)
		w.lives("a BAD_ITEM OPEN tries 0 seen 1")
	})
	s.test(t, "an answer to what was asked for keeps one row per record", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Store(a.WithRejects(bad("a", record.BadItem, "$.x", fixture.Noon), bad("lost", record.BadItem, "$.x", fixture.Noon)))
		w.putBack(h)
		fresh := record.Reject{ProviderID: "a", Reason: record.BadUpdatedAt, Path: "$.d", Raw: []byte(`{"id":"a","d":"?"}`), FetchAt: fixture.Noon.Add(time.Hour)}
		missing := record.Reject{ProviderID: "lost", Reason: record.MissingDetail, Detail: "gone", Raw: []byte("lost"), FetchAt: fixture.Noon.Add(time.Hour)}
		page := a.WithRejects(fresh, missing)
		page.Refreshed = &ingest.Refreshed{Failed: []string{"a", "lost"}, At: fixture.Noon.Add(time.Hour)}
		a.Store(page)
		w.lives("a BAD_UPDATED_AT OPEN tries 1 seen 1", "lost BAD_ITEM OPEN tries 1 seen 1")
		if raw, err := w.Store.RejectItem(w.Ctx, w.rejectRow("lost")); err != nil || string(raw.RawBytes) != `{"id":"lost"}` || raw.Note != "read again: MISSING_DETAIL: gone" {
			w.Errorf("%+v %v", raw, err)
		}
	})
	s.test(t, "whatever happens to an item, its row goes only where it may", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		for seed := range uint64(4) {
			w.life(a, seed)
		}
	})
	s.test(t, "groups count by place, and pages go on behind a row", func(w *world) {
		for _, source := range []string{"one", "two"} {
			h := fixture.Harvest{Source: source, Days: 1}
			w.Plan(h)
			a := w.Begin(h)
			a.Store(a.WithRejects(bad("a", record.MissingField, "$.x", fixture.Noon), bad("b", record.MissingField, "$.x", fixture.Noon), bad("c", record.MissingField, "$.y", fixture.Noon), bad("d", record.BadItem, "", fixture.Noon)))
		}
		_, _, err := w.Store.DiscardRejects(w.Ctx, ingest.RejectPick{Dataset: ingest.Dataset{Source: "one"}, Reason: record.BadItem}, w.By)
		w.Must(err)
		groups, err := w.Store.RejectGroups(w.Ctx, "one", false)
		w.Must(err)
		if len(groups) != 2 || groups[0].Count != 2 || groups[0].Path != "$.x" || groups[0].Example != `{"id":"a"}` || groups[0].Detail != "why a" || groups[0].FirstSeen.IsZero() {
			w.Errorf("%+v", groups)
		}
		if all, err := w.Store.RejectGroups(w.Ctx, "", true); err != nil || len(all) != 6 {
			w.Errorf("%+v %v", all, err)
		}
		for _, text := range []string{"'", "OPEN') OR ('1'='1", "NONE"} { // it becomes part of the statement (A24)
			if rows, err := w.Store.RejectList(w.Ctx, view.RejectFilter{Status: text, Limit: 10}); !errors.Is(err, fault.ErrInvalid) {
				w.Errorf("the state %q finds %d rows, %v", text, len(rows), err)
			}
		}
		var got []string
		for after := int64(0); ; {
			page, err := w.Store.RejectList(w.Ctx, view.RejectFilter{Source: "two", Reason: "MISSING_FIELD", After: after, Limit: 2})
			w.Must(err)
			if len(page) == 0 {
				break
			}
			for _, r := range page {
				got, after = append(got, r.ProviderID+r.Path), r.ID
			}
		}
		if fmt.Sprint(got) != "[a$.x b$.x c$.y]" {
			w.Error(got)
		}
		if n, err := w.Store.CountRejects(w.Ctx, ingest.RejectPick{Dataset: ingest.Dataset{Source: "one"}}, ingest.RejectOpen); err != nil || n != 3 {
			w.Error(n, err)
		}
		if in, err := w.Store.RequeuedIn(w.Ctx, ""); err != nil || len(in) != 0 {
			w.Error(in, err)
		}
	})
	s.test(t, "items of a source are seen to in chunks, each once, in the order of their numbers", func(w *world) {
		const chunk = 500
		w.Plan(h)
		a := w.Begin(h)
		var all []record.Reject
		for i := range chunk + 20 {
			all = append(all, bad(fmt.Sprintf("r%04d", i), []record.Reason{record.BadItem, record.MissingField}[i%2], "", fixture.Noon))
		}
		a.Store(a.WithRejects(all...))
		first, last := w.rejectRow("r0000"), w.rejectRow("r0519")
		pick := ingest.RejectPick{Dataset: ingest.Dataset{Source: h.Partition().Dataset.Source}}
		done, next, err := w.Store.RequeueRejects(w.Ctx, pick, w.By) // now some are put back and some open
		w.Must(err)
		if done.Changed != chunk || next != first+chunk-1 {
			w.Fatalf("%+v, next %d of %d to %d", done, next, first, last)
		}
		odd := pick
		odd.Reason, odd.After = record.MissingField, last-5
		if done, next, err := w.Store.DiscardRejects(w.Ctx, odd, w.By); err != nil || done.Changed != 3 || next != 0 {
			w.Errorf("the last of a reason: %+v, next %d, %v", done, next, err)
		}
		done, next, err = w.Store.DiscardRejects(w.Ctx, pick, w.By)
		w.Must(err)
		if done.Changed != chunk || next != first+chunk-1 {
			w.Errorf("%+v, next %d", done, next)
		}
		pick.After = next
		if done, next, err = w.Store.DiscardRejects(w.Ctx, pick, w.By); err != nil || done.Changed != 17 || next != 0 {
			w.Errorf("the rest: %+v, next %d, %v", done, next, err)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_quarantine WHERE status_code <> 'DISCARDED'"); n != 0 {
			w.Errorf("%d items are left", n)
		}
	})
	s.test(t, "a rehearsal writes nothing, acts are in the audit log, and unknown items are refused", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Store(a.WithRejects(bad("a", record.BadItem, "", fixture.Noon)))
		pick := ingest.RejectPick{IDs: []int64{w.rejectRow("a")}}
		before := w.Tables()
		rehearsal := w.By
		rehearsal.Rehearsal = true
		for _, do := range []func() (ingest.RejectsDone, int64, error){
			func() (ingest.RejectsDone, int64, error) { return w.Store.RequeueRejects(w.Ctx, pick, rehearsal) },
			func() (ingest.RejectsDone, int64, error) { return w.Store.DiscardRejects(w.Ctx, pick, rehearsal) },
		} {
			done, _, err := do()
			w.Must(err)
			if done.Changed != 1 {
				w.Errorf("%+v", done)
			}
		}
		w.SameTables("after a rehearsal", before, w.Tables())
		_, _, err := w.Store.RequeueRejects(w.Ctx, ingest.RejectPick{IDs: []int64{pick.IDs[0], 4711}}, w.By)
		w.Refuses(err, fault.ErrNotFound, "an unknown item")
		w.lives("a BAD_ITEM OPEN tries 0 seen 1")
		_, _, err = w.Store.DiscardRejects(w.Ctx, pick, w.By)
		w.Must(err)
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'quarantine.discard' AND reason = ?", w.By.Reason); n != 1 {
			w.Errorf("%d entries", n)
		}
	})
}

func lossyQuarantine() []lossy {
	h := fixture.Harvest{Days: 1}
	rejected := func(w *world) *fixture.Attempt {
		w.Plan(h)
		a := w.Begin(h)
		a.Store(a.WithRejects(bad("a", record.BadItem, "", fixture.Noon), bad("b", record.BadItem, "", fixture.Noon)))
		return a
	}
	return []lossy{
		{"requeue rejects", "requeue rejects", func(w *world) func() (answer, error) {
			rejected(w)
			return func() (answer, error) {
				_, _, err := w.Store.RequeueRejects(w.Ctx, ingest.RejectPick{Dataset: h.Partition().Dataset}, w.By)
				return nil, err
			}
		}},
		{"discard rejects", "discard rejects", func(w *world) func() (answer, error) {
			rejected(w)
			pick := ingest.RejectPick{IDs: []int64{w.rejectRow("b")}}
			return func() (answer, error) { _, _, err := w.Store.DiscardRejects(w.Ctx, pick, w.By); return nil, err }
		}},
		{"commit batch", "commit batch of rejected items", func(w *world) func() (answer, error) {
			a := rejected(w)
			w.putBack(h)
			again := bad("b", record.BadUpdatedAt, "$.d", fixture.Noon)
			again.Row = w.rejectRow("b")
			page := a.Reread([]int64{w.rejectRow("a")}, fixture.Item("a", "x", fixture.Noon))
			page.Rejects, page.Seen = []record.Reject{again}, 2
			w.Clock.Advance(time.Second)
			return func() (answer, error) { return w.Store.CommitBatch(w.Ctx, page) }
		}},
	}
}

// life lets things happen to one item, in an order that a seed says, and holds its
// row to the state that follows.
func (w *world) life(a *fixture.Attempt, seed uint64) {
	w.Helper()
	id := fmt.Sprint("life-", seed)
	random := rand.New(rand.NewPCG(seed, 7))
	reject := func() record.Reject { return bad(id, record.BadItem, "", w.Clock.Read()) }
	a.Store(a.WithRejects(reject()))
	row := w.rejectRow(id)
	named := ingest.RejectPick{IDs: []int64{row}}
	state := ingest.RejectOpen
	onlyPutBack := func(to ingest.RejectStatus) ingest.RejectStatus {
		if state == ingest.RejectRequeued {
			return to
		}
		return state
	}
	var story []string
	for range 40 {
		w.Clock.Advance(time.Second)
		was, what := state, ""
		switch random.IntN(7) {
		case 0:
			what, state = "seen", state.RejectedAgain()
			a.Store(a.WithRejects(reject()))
		case 1:
			what = "came"
			if !isDecided(state) {
				state = ingest.RejectResolved
			}
			came := fixture.Item(id, "x", fixture.Midnight(2))
			came.FetchAt = w.Clock.Read()
			a.Commit(came)
		case 2:
			what = "requeued"
			if state == ingest.RejectOpen {
				state = ingest.RejectRequeued
			}
			_, _, err := w.Store.RequeueRejects(w.Ctx, named, w.By)
			w.Must(err)
		case 3:
			what, state = "read well", onlyPutBack(ingest.RejectResolved)
			old := fixture.Item(id, "x", fixture.Midnight(2))
			old.FetchAt = fixture.Noon.Add(-fixture.Day)
			a.Store(a.Reread([]int64{row}, old))
		case 4:
			what, state = "read badly", onlyPutBack(ingest.RejectOpen)
			again := bad(id, record.BadItem, "", fixture.Noon.Add(-fixture.Day))
			again.Row = row
			page := a.Reread(nil)
			page.Rejects, page.Seen = []record.Reject{again}, 1
			a.Store(page)
		case 5:
			what, state = "unread", onlyPutBack(ingest.RejectOpen)
			page := a.Page()
			page.Refreshed = &ingest.Refreshed{Unread: []int64{row}, Why: "because"}
			a.Store(page)
		case 6:
			if random.IntN(8) > 0 { // or nothing would happen after the first few steps
				continue
			}
			what = "discarded"
			if !isDecided(state) {
				state = ingest.RejectDiscarded
			}
			_, _, err := w.Store.DiscardRejects(w.Ctx, named, w.By)
			w.Must(err)
		}
		story = append(story, what)
		one, err := w.Store.RejectItem(w.Ctx, row)
		w.Must(err)
		if one.Status != string(state) || was != state && !was.CanBecome(state) {
			w.Fatalf("seed %d: %s after %v, was %s, want %s", seed, one.Status, story, was, state)
		}
	}
	if n := w.Number("SELECT COUNT(*) FROM ing_quarantine WHERE provider_id = ?", id); n != 1 {
		w.Errorf("seed %d: %d rows", seed, n)
	}
}

// isDecided reports whether somebody or something has settled the item.
func isDecided(s ingest.RejectStatus) bool {
	return s == ingest.RejectResolved || s == ingest.RejectDiscarded
}
