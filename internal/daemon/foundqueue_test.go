package daemon

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/inspect"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// A queue that is longer than it ever was is found after half an hour, heals while it gets
// shorter, and is no finding when it is as before; all of it from what living processes noted.
func TestStatusTellsOfAQueueThatGrows(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		localstore.GiveTables(t, database)
		d := &library{T: t, db: openBeside(t, database), now: time.Date(2031, 3, 9, 0, 0, 0, 0, time.UTC)}
		least := 5
		var installed Installed
		installed.Findings.QueueLeast = &least
		var err error
		d.app, err = Open(t.Context(), Config{Database: database, Clock: func() time.Time { return d.now }, Installed: installed})
		d.must(err)
		defer d.app.Close()
		d.exec("INSERT INTO ing_partition (dataset_id, provenance_code, endpoint_name, operation_code, max_concurrent, created_at, rate_key) VALUES (1, 'crossref', 'works', 'HARVEST', 4, 0, 'crossref')")
		tasks := 0
		plan := func(n int) {
			for range n {
				tasks++
				d.exec(`INSERT INTO ing_task (schedule_instance_id, plan_id, slice_id, partition_id, provenance_code, endpoint_name, operation_code, spec_fingerprint, idempotent_key, expr_hash, priority,
  status_code, scheduled_at, created_at, updated_at) SELECT 1, 1, ?, id, 'crossref', 'works', 'HARVEST', 'x', 'k', 'x', 50, 'QUEUED', 0, 0, 0 FROM ing_partition`, tasks)
			}
		}
		process := newLife(d.app)
		live := func(span time.Duration) *view.Finding {
			t.Helper()
			for end := d.now.Add(span); d.now.Before(end); d.now = d.now.Add(time.Duration(view.ShortSlot)) {
				process.noteQueue(t.Context(), d.now)
				process.noteQueue(t.Context(), d.now.Add(time.Minute)) // once is enough
			}
			d.must(process.giveSignOfLife(t.Context()))
			s, err := d.app.Inspect.Status(t.Context(), inspect.StatusQuery{})
			d.must(err)
			for _, f := range s.Findings {
				if f.Code == view.FoundQueue {
					return &f
				}
			}
			return nil
		}
		plan(3)
		if f := live(13 * time.Hour); f != nil {
			t.Fatalf("as ever: %+v", f)
		}
		plan(20)
		began := d.now
		if f := live(30 * time.Minute); f != nil {
			t.Fatalf("not for long: %+v", f)
		}
		f := live(5 * time.Minute)
		if f == nil || f.Count != 23 || !f.Since.Equal(began) || f.Heals || f.Severity != view.Warning || f.Queue.Usual != 3 || f.Queue.Most != 5 || f.Queue.OfSource != 23 ||
			f.Next != "patra task list --status QUEUED --source crossref" {
			t.Fatalf("%+v", f)
		}
		d.exec("UPDATE ing_task SET status_code = 'SUCCEEDED' WHERE slice_id > 10")
		if f := live(10 * time.Minute); f == nil || !f.Heals {
			t.Errorf("it gets shorter: %+v", f)
		}
		d.must(d.app.store.Farewell(t.Context(), d.app.identity.ID))
		s, err := d.app.Inspect.Status(t.Context(), inspect.StatusQuery{})
		d.must(err)
		for _, f := range s.Findings {
			if f.Code == view.FoundQueue {
				t.Errorf("no process lives, which is a finding of its own: %+v", f)
			}
		}
		d.exec("UPDATE ing_task SET status_code = '" + string(ingest.TaskSucceeded) + "' WHERE slice_id > 3")
		if f := live(25 * time.Minute); f != nil {
			t.Errorf("it is as before: %+v", f)
		}
	})
}
