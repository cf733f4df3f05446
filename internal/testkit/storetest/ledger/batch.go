package ledger

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) batches(t *testing.T) {
	h := fixture.Harvest{Days: 2}
	s.test(t, "every item is accounted for", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("same", "x", fixture.Noon), fixture.Item("changed", "x", fixture.Noon), fixture.Item("removed", "x", fixture.Noon), fixture.Item("touched", "x", fixture.Noon), fixture.Item("newer", "x", fixture.Noon.Add(fixture.Day)))
		page := a.Page(fixture.Item("new", "x", fixture.Noon), fixture.Item("same", "x", fixture.Noon), fixture.Item("changed", "y", fixture.Noon.Add(fixture.Day)), fixture.Gone("removed", fixture.Noon.Add(fixture.Day)),
			fixture.Item("touched", "x", fixture.Noon.Add(fixture.Day)), fixture.Item("newer", "old", fixture.Noon), fixture.Gone("never seen", fixture.Noon))
		page.Rejects = []record.Reject{{Reason: record.BadItem, Raw: []byte("1")}, {Reason: record.BadItem, Raw: []byte("2")}}
		page.Duplicate, page.Outside, page.Excluded, page.Seen = 3, 4, 5, 21
		got := a.Store(page)
		want := ingest.BatchStats{Seen: 21, Inserted: 1, Updated: 1, Unchanged: 2, Gone: 2, Stale: 1, Duplicate: 3, Outside: 4, Excluded: 5, Quarantined: 2}
		if got.Stats != want {
			w.Errorf("stats %+v, want %+v", got.Stats, want)
		}
		batch, err := w.Store.Batch(w.Ctx, got.BatchID)
		w.Must(err)
		if batch.Stats != want {
			w.Errorf("stored stats %+v", batch.Stats)
		}
	})
	s.test(t, "a page that does not add up is refused", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		for name, spoil := range map[string]func(*ingest.BatchCommit){
			"one item vanished":  func(p *ingest.BatchCommit) { p.Seen++ },
			"one item too many":  func(p *ingest.BatchCommit) { p.Seen-- },
			"uncounted reject":   func(p *ingest.BatchCommit) { p.Rejects = []record.Reject{{Reason: record.BadID}} },
			"invented duplicate": func(p *ingest.BatchCommit) { p.Duplicate = 1 },
		} {
			page := a.Page(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "x", fixture.Noon))
			spoil(&page)
			w.Unchanged(name, func() {
				_, err := w.Store.CommitBatch(w.Ctx, page)
				w.Refuses(err, fault.ErrInvalid, name)
			})
		}
	})
	s.test(t, "one id twice in a page is refused", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		for _, stored := range []bool{false, true} {
			w.Unchanged("page", func() {
				_, err := w.Store.CommitBatch(w.Ctx, a.Page(fixture.Item("a", "y", fixture.Noon.Add(fixture.Day)), fixture.Item("b", "y", fixture.Noon.Add(fixture.Day)), fixture.Item("a", "z", fixture.Noon.Add(fixture.Day))))
				w.Refuses(err, fault.ErrInvalid, "page with one id twice")
			})
			if !stored {
				a.Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "x", fixture.Noon))
			}
		}
	})
	s.test(t, "one event per change and none without", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		grows := func(what string, want int, records ...record.Incoming) {
			w.Helper()
			before := len(w.Versions())
			grown := w.Grown(func() { a.Commit(records...) })
			if versions := len(w.Versions()) - before; grown["ing_outbox_message"] != want || versions != want {
				w.Errorf("%s: %d events and %d bodies, want %d each", what, grown["ing_outbox_message"], versions, want)
			}
		}
		grows("inserts", 2, fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "x", fixture.Noon))
		grows("unchanged", 0, fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "x", fixture.Noon))
		grows("touch", 0, fixture.Item("a", "x", fixture.Noon.Add(time.Hour)))
		grows("stale", 0, fixture.Item("a", "older", fixture.Noon.Add(-fixture.Day)))
		grows("update", 1, fixture.Item("a", "y", fixture.Noon.Add(fixture.Day)), fixture.Item("b", "x", fixture.Noon))
		grows("removal", 1, fixture.Gone("b", fixture.Noon.Add(fixture.Day)))
		grows("removed again", 0, fixture.Gone("b", fixture.Noon.Add(2*fixture.Day)))
		grows("back again", 1, fixture.Item("b", "x", fixture.Noon.Add(3*fixture.Day)))
		grows("empty page", 0)
		ops := fixture.Column(w.T, w.DB.SQL, "SELECT op_type FROM ing_outbox_message ORDER BY id")
		if want := []string{"INSERTED", "INSERTED", "UPDATED", "REMOVED", "UPDATED"}; !reflect.DeepEqual(ops, want) {
			w.Errorf("events %v, want %v", ops, want)
		}
		w.eventsMatchBodies()
	})
	s.test(t, "one page inserts, updates and removes", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "x", fixture.Noon))
		later := fixture.Noon.Add(fixture.Day)
		a.Commit(fixture.Item("c", "x", later), fixture.Item("a", "y", later), fixture.Gone("b", later), fixture.Item("d", "x", later), fixture.Gone("e", later))
		ops := fixture.Column(w.T, w.DB.SQL, "SELECT op_type FROM ing_outbox_message ORDER BY id")
		if want := []string{"INSERTED", "INSERTED", "INSERTED", "UPDATED", "REMOVED", "INSERTED", "REMOVED"}; !reflect.DeepEqual(ops, want) {
			w.Errorf("events %v, want %v", ops, want)
		}
		for column, want := range map[string][]string{"state_code": {"ACTIVE", "GONE", "ACTIVE", "ACTIVE", "GONE"}, "version": {"2", "2", "1", "1", "1"}} {
			if got := fixture.Column(w.T, w.DB.SQL, "SELECT "+column+" FROM ing_record ORDER BY provider_id"); !reflect.DeepEqual(got, want) {
				w.Errorf("%s is %v, want %v", column, got, want)
			}
		}
		if n := w.Text("SELECT COUNT(*) FROM ing_outbox_message WHERE aggregate_type = 'Record' AND channel = 'records' AND status_code = 'PENDING'"); n != "7" {
			w.Errorf("%s events are to be published, want 7", n)
		}
		w.eventsMatchBodies()
	})
	s.test(t, "the same page in a new batch changes nothing", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		var records []record.Incoming
		for i := range 250 {
			records = append(records, fixture.Item(fmt.Sprintf("id-%d", i), "x", fixture.Noon))
		}
		first := a.Commit(records...)
		grown := w.Grown(func() {
			second := a.Commit(records...)
			if second.BatchID == first.BatchID || second.Stats.Unchanged != 250 || second.Stats.Inserted+second.Stats.Updated != 0 {
				w.Errorf("second batch %+v", second)
			}
		})
		if want := map[string]int{"ing_task_run_batch": 1, "ing_batch_evidence": 1}; !reflect.DeepEqual(grown, want) {
			w.Errorf("the second batch added %v, want %v", grown, want)
		}
	})
	s.test(t, "a batch repeated gives its stored answer", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		page := a.Page(fixture.Item("a", "x", fixture.Noon))
		first := a.Store(page)
		w.Clock.Advance(time.Second)
		second, err := w.Store.CommitBatch(w.Ctx, page)
		w.Must(err)
		if second.BatchID != first.BatchID || second.Stats != first.Stats || !second.Until.Equal(first.Until.Add(time.Second)) {
			w.Errorf("second %+v, first %+v", second, first)
		}
	})
	s.test(t, "checkpoint, totals and lease move with the batch", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon))
		w.Clock.Advance(10 * time.Second)
		page := a.Page(fixture.Item("b", "x", fixture.Noon), fixture.Item("a", "x", fixture.Noon))
		page.Checkpoint = ingest.Checkpoint{Pass: 1, Paging: paging.State{Pages: 2, Token: "t2", Seen: 3, Total: 9}}
		page.RunStats = ingest.RunStats{BatchStats: ingest.BatchStats{Seen: 1, Inserted: 1}, Requests: 5, WaitMS: 70}
		result := a.Store(page)
		if want := fixture.Noon.Add(10*time.Second + fixture.Lease); !result.Until.Equal(want) || !w.task(a).LeasedUntil.Equal(want) {
			w.Errorf("lease until %v, stored %v, want %v", result.Until, w.task(a).LeasedUntil, want)
		}
		want := ingest.RunStats{BatchStats: ingest.BatchStats{Seen: 3, Inserted: 2, Unchanged: 1}, Requests: 5, WaitMS: 70}
		if got := w.lastRun(a).Stats; !reflect.DeepEqual(got, want) {
			w.Errorf("run totals %+v, want %+v", got, want)
		}
		a.Finish(fixture.Again)
		w.Begin(h) // the second day, which was due before
		if got := w.Begin(h).Run.Checkpoint; got != page.Checkpoint {
			w.Errorf("checkpoint %+v, want %+v", got, page.Checkpoint)
		}
	})
	s.test(t, "a batch keeps its place in the chain and its evidence", func(w *world) {
		plan := w.Plan(h)
		a := w.Begin(h)
		bare := a.Commit().BatchID
		page := a.Page(fixture.Item("a", "x", fixture.Noon))
		page.Pass, page.PageNo, page.BeforeToken, page.AfterToken, page.Raw = 2, 17, "from", "to", fixture.Long("0f", 32)
		page.Exchange = ingest.Exchange{Requests: 1, Permits: 1, Status: 200}
		id := a.Store(page).BatchID
		got, err := w.Store.Batch(w.Ctx, id)
		w.Must(err)
		want := view.Batch{
			ID: id, RunID: a.Run.ID, TaskID: a.Work.Lease.TaskID, SliceID: a.Work.Lineage.SliceID, PlanID: plan.ID, No: 2, Pass: 2, Page: 17,
			Source: "crossref", Operation: "HARVEST", Status: "SUCCEEDED", BeforeToken: "from", AfterToken: "to",
			Stats: ingest.BatchStats{Seen: 1, Inserted: 1}, CommittedAt: fixture.Noon, Request: page.Request, Response: page.Response, Raw: fixture.Long("0f", 32),
			Exchange: &page.Exchange,
		}
		if !reflect.DeepEqual(got, want) {
			w.Errorf("batch\n%+v, want\n%+v", got, want)
		}
		if first, err := w.Store.Batch(w.Ctx, bare); err != nil || first.Raw != "" {
			w.Errorf("a batch whose body was not kept refers to %q, %v", first.Raw, err)
		}
	})
	s.test(t, "a batch of an unknown run is refused", func(w *world) {
		w.Plan(h)
		work := w.Claim(h, 1)[0]
		a := &fixture.Attempt{W: w.World, Work: work}
		w.Unchanged("commit before start", func() {
			_, err := w.Store.CommitBatch(w.Ctx, a.Page(fixture.Item("a", "x", fixture.Noon)))
			w.Refuses(err, fault.ErrNotFound, "commit")
		})
	})
}

// eventsMatchBodies checks I9 over the whole database: changes and events are
// the same set.
func (w *world) eventsMatchBodies() {
	w.Helper()
	all := w.Versions()
	count := map[string]int{}
	byID := map[int64]bodies.Key{}
	given := map[string]bool{}
	for _, v := range all {
		byID[v.ID] = v.Key
		name := fmt.Sprint(v.Dataset, v.Record, v.Version)
		if given[name] {
			count["versions that were given twice"]++
		}
		given[name] = true
	}
	for _, v := range all {
		if before := byID[v.Prev]; v.Version > 1 && (before.Version != v.Version-1 || before.Dataset != v.Dataset || before.Record != v.Record) {
			count["chains with a break"]++
		}
	}
	told := map[int64]bool{}
	w.eachRow("SELECT body_id, record_version, aggregate_id FROM ing_outbox_message", func(scan func(...any) error) error {
		var body, version, dataset int64
		err := scan(&body, &version, &dataset)
		if v, there := byID[body]; !there || v.Version != version || v.Dataset != dataset {
			count["events without a body"]++
		} else {
			told[body] = true
		}
		return err
	})
	count["bodies without an event"] = len(all) - len(told)
	w.eachRow("SELECT dataset_id, id_hash, version, body_id FROM ing_record", func(scan func(...any) error) error {
		var dataset, version, body int64
		var key []byte
		err := scan(&dataset, &key, &version, &body)
		if v, there := byID[body]; !there || v.Version != version || v.Dataset != dataset || string(v.Record[:]) != string(key) {
			count["heads that are not their newest body"]++
		}
		return err
	})
	for what, n := range count {
		if n != 0 {
			w.Errorf("%d %s", n, what)
		}
	}
	if events := w.Number("SELECT COUNT(*) FROM ing_outbox_message"); events != int64(len(all)) {
		w.Errorf("%d events for %d bodies", events, len(all))
	}
}

func (w *world) eachRow(query string, visit func(scan func(...any) error) error) {
	w.Helper()
	rows, err := w.Ask(query)
	w.Must(err)
	defer rows.Close()
	for rows.Next() {
		w.Must(visit(rows.Scan))
	}
	w.Must(rows.Err())
}
