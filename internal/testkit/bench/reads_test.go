package bench

import (
	"database/sql"
	"fmt"
	"strconv"
	"testing"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// benchReads measures what people ask with commands, over a history of years: the
// time to answer must not grow with what nobody asked for (D§7).
func benchReads(b *testing.B, k kind, out *table) {
	sizes := []int{10_000, 100_000}
	if proof() {
		sizes = append(sizes, 10_000_000)
	}
	histories := make([]*history, len(sizes))
	for i, size := range sizes {
		histories[i] = newHistory(b, k, size)
	}
	for _, question := range questions() {
		b.Run(question.what, func(b *testing.B) {
			took := make([]samples, len(histories))
			repeat(b, 20, func() {
				for i, h := range histories {
					took[i].time(b, func() error {
						n, err := question.ask(b, h)
						if err == nil && n == 0 {
							b.Errorf("%s with %d batches: no answer", question.what, h.batches)
						}
						return err
					})
				}
			})
			for i, h := range histories {
				out.add(b, line{
					what: fmt.Sprintf("%s, %s batches, %s (mean / p95)", question.what, human(h.batches), k.name),
					ours: took[i].String(), reference: took[0].String(), ratio: took[i].middle(took[0]),
					reads: "time / time with 10 k batches; medians",
				})
			}
		})
	}
}

type question struct {
	what string
	ask  func(tb testing.TB, h *history) (rows int, err error)
}

func questions() []question {
	list := func(what string, f view.Filter) []question {
		return []question{
			{"list tasks " + what, func(tb testing.TB, h *history) (int, error) {
				rows, err := h.store.Tasks(tb.Context(), f)
				return len(rows), err
			}},
			{"list runs " + what, func(tb testing.TB, h *history) (int, error) {
				rows, err := h.store.Runs(tb.Context(), f)
				return len(rows), err
			}},
			{"list batches " + what, func(tb testing.TB, h *history) (int, error) {
				rows, err := h.store.Batches(tb.Context(), f)
				return len(rows), err
			}},
		}
	}
	var all []question
	all = append(all, list("of all", view.Filter{})...)
	all = append(all, list("of the usual source", view.Filter{Source: usual})...)
	all = append(all, list("of a source not read for years", view.Filter{Source: early})...)
	all = append(all, list("that failed", view.Filter{Status: "FAILED"})...)
	all = append(all, list("that failed, of a source", view.Filter{Source: usual, Status: "FAILED"})...)
	all = append(all, list("that went well", view.Filter{Status: "SUCCEEDED"})...)
	all = append(all, list("of a source that went well", view.Filter{Source: early, Status: "SUCCEEDED"})...)
	all = append(all,
		question{"show one batch", func(tb testing.TB, h *history) (int, error) {
			batch, err := h.store.Batch(tb.Context(), int64(h.batches/2))
			return int(batch.ID), err
		}},
		question{"list the plans of the usual source", func(tb testing.TB, h *history) (int, error) {
			rows, err := h.store.PlanRows(tb.Context(), view.PlanFilter{Filter: view.Filter{Source: usual}})
			return len(rows), err
		}},
		question{"show how far a plan is", func(tb testing.TB, h *history) (int, error) {
			progress, err := h.store.Progress(tb.Context(), int64(h.batches/batchesPerPlan/2))
			return progress.Total, err
		}},
		question{"add up the work of all sources", func(tb testing.TB, h *history) (int, error) {
			rows, err := h.store.Workload(tb.Context(), "")
			return len(rows), err
		}},
	)
	return append(all, sumQuestions()...)
}

// What a history is made of. A run has ten batches, a plan a hundred runs.
const (
	usual          = "source-0"
	early          = "source-9" // only in the oldest plans
	batchesPerRun  = 10
	batchesPerPlan = 1000
)

// history is a database in which much has happened and nothing waits.
type history struct {
	store   *store.Store
	db      *sql.DB
	batches int
}

func newHistory(tb testing.TB, k kind, batches int) *history {
	tb.Helper()
	base := k.fresh(tb)
	h := &history{base.open(tb, true), base.bare(tb, 1, "OFF"), batches}
	plan := openPlan(tb, h.store, usual)
	if plan.ID != 1 {
		tb.Fatalf("the first plan has id %d", plan.ID)
	}
	startRun(tb, h.store)
	exec(tb, h.db, "CREATE TABLE digit (n INTEGER)")
	exec(tb, h.db, "INSERT INTO digit VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
	exec(tb, h.db, "CREATE TABLE number (n INTEGER PRIMARY KEY)")
	exec(tb, h.db, "INSERT INTO number SELECT 1 + a.n + 10*b.n + 100*c.n + 1000*d.n + 10000*e.n + 100000*f.n FROM digit f, digit e, digit d, digit c, digit b, digit a")
	for first := 0; first < batches; first += 1_000_000 {
		h.add(tb, first, min(1_000_000, batches-first))
	}
	exec(tb, h.db, "UPDATE ing_task SET status_code = 'SUCCEEDED' WHERE id = 1")
	h.addSums(tb)
	return h
}

// add appends n batches after the first ones, with their runs, tasks, slices and
// plans. One run in 500 failed, with its task and its last batch.
func (h *history) add(tb testing.TB, first, n int) {
	tb.Helper()
	for _, rows := range []struct {
		per       int
		statement string
	}{
		{batchesPerPlan, copyPlans}, {batchesPerRun, copyRunSlices}, {batchesPerRun, copyRunTasks}, {batchesPerRun, copyRuns}, {1, copyBatches},
	} {
		exec(tb, h.db, fmt.Sprintf(rows.statement, strconv.Itoa(first/rows.per)), n/rows.per)
	}
}

const (
	// %[1]s is how many there are already; x is the number of the new row.
	sourceOf = "CASE WHEN x.plan <= 2 THEN '" + early + "' WHEN x.plan %% 20 = 0 THEN 'source-5' ELSE '" + usual + "' END"
	statusOf = "CASE WHEN x.run %% 500 = 0 THEN 'FAILED' ELSE 'SUCCEEDED' END"

	copyPlans = `INSERT INTO ing_plan (schedule_instance_id, plan_key, partition_id, cursor_id, provenance_code, endpoint_name, operation_code, expr_proto_hash, expr_id,
  mapping_id, spec_fingerprint, provenance_config_hash, window_from, window_to, as_of, slice_strategy_code, status_code, created_at, updated_at)
SELECT p.schedule_instance_id, CONCAT('plan', x.plan), p.partition_id, p.cursor_id, ` + sourceOf + `, p.endpoint_name, p.operation_code, p.expr_proto_hash, p.expr_id,
  p.mapping_id, p.spec_fingerprint, p.provenance_config_hash, p.window_from, p.window_to, p.as_of, p.slice_strategy_code, 'COMPLETED', p.created_at, p.updated_at
FROM (SELECT n + %[1]s AS plan FROM number WHERE n <= ?) x, ing_plan p WHERE p.id = 1 ORDER BY x.plan`
	copyRunSlices = `INSERT INTO ing_plan_slice (plan_id, provenance_code, slice_no, slice_signature_hash, slice_spec, window_from, window_to, expr_hash, status_code,
  created_at, updated_at, begins)
SELECT 1 + x.plan, ` + sourceOf + `, x.run %% 100, CONCAT('slice', x.run), '{}', s.window_from, s.window_to, s.expr_hash, ` + statusOf + `, s.created_at, s.updated_at, x.run
FROM (SELECT n + %[1]s AS run, 1 + FLOOR((n + %[1]s - 1) / 100) AS plan FROM number WHERE n <= ?) x, ing_plan_slice s WHERE s.id = 1 ORDER BY x.run`
	copyRunTasks = `INSERT INTO ing_task (schedule_instance_id, plan_id, slice_id, partition_id, provenance_code, endpoint_name, operation_code, spec_fingerprint, params,
  idempotent_key, expr_hash, priority, status_code, scheduled_at, created_at, updated_at)
SELECT t.schedule_instance_id, 1 + x.plan, 1 + x.run, t.partition_id, ` + sourceOf + `, t.endpoint_name, t.operation_code, t.spec_fingerprint, t.params,
  CONCAT('task', x.run), t.expr_hash, t.priority, ` + statusOf + `, t.scheduled_at + x.run, t.created_at, t.updated_at
FROM (SELECT n + %[1]s AS run, 1 + FLOOR((n + %[1]s - 1) / 100) AS plan FROM number WHERE n <= ?) x, ing_task t WHERE t.id = 1 ORDER BY x.run`
	copyRuns = `INSERT INTO ing_task_run (task_id, lease_epoch, attempt_no, plan_id, provenance_code, operation_code, status_code, stats, window_from, window_to, worker,
  started_at, finished_at, created_at)
SELECT 1 + x.run, 1, 1, 1 + x.plan, ` + sourceOf + `, r.operation_code, ` + statusOf + `, '{"seen":1000,"inserted":1000}', r.window_from, r.window_to, r.worker, r.started_at,
  r.started_at, r.created_at
FROM (SELECT n + %[1]s AS run, 1 + FLOOR((n + %[1]s - 1) / 100) AS plan FROM number WHERE n <= ?) x, ing_task_run r WHERE r.id = 1 ORDER BY x.run`
	copyBatches = `INSERT INTO ing_task_run_batch (run_id, task_id, slice_id, plan_id, lease_epoch, batch_no, pass, idempotent_key, provenance_code, operation_code, page_no,
  page_size, before_token, record_count, status_code, stats, committed_at, created_at)
SELECT 1 + x.run, 1 + x.run, 1 + x.run, 1 + x.plan, 1, 1 + (x.batch - 1) %% 10, 1, CONCAT('batch', x.batch), ` + sourceOf + `, r.operation_code, x.batch %% 10, 100, CONCAT('token-', x.batch), 100,
  CASE WHEN x.batch %% 10 = 0 THEN ` + statusOf + ` ELSE 'SUCCEEDED' END, '{"seen":100,"inserted":100}', r.started_at + x.batch, r.created_at
FROM (SELECT n + %[1]s AS batch, 1 + FLOOR((n + %[1]s - 1) / 10) AS run, 1 + FLOOR((n + %[1]s - 1) / 1000) AS plan FROM number WHERE n <= ?) x, ing_task_run r
WHERE r.id = 1 ORDER BY x.batch`
)
