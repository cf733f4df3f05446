package look

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Exchanges lists pages with what was asked and what came back, newest first.
// Evidence is wide, so lists that do not show it use Batches.
func (s *Look) Exchanges(ctx context.Context, f view.Filter) (out []view.Batch, err error) {
	const query = `SELECT b.id, b.run_id, b.task_id, b.slice_id, b.plan_id, b.batch_no, b.pass, b.page_no, b.provenance_code, b.operation_code, b.status_code,
  b.before_token, b.after_token, b.stats, b.error, b.committed_at, e.request, e.response, e.blob_ref
  FROM ` + page + ` LEFT JOIN ing_batch_evidence e ON e.batch_id = b.id`
	err = s.listRows(ctx, "list exchanges", query, "ing_task_run_batch", "b", f, func(w *kernel.Where) {
		w.Add(f.PlanID != 0, "b.plan_id = ?", f.PlanID)
		w.Add(f.TaskID != 0, "b.task_id = ?", f.TaskID)
		w.Add(f.RunID != 0, "b.run_id = ?", f.RunID)
	}, func(rows *sql.Rows) error {
		var request, response, kept sql.NullString
		v, err := scanBatch(rows, &request, &response, &kept)
		v.Request, v.Response, v.Raw = kernel.RawJSON(request), kernel.RawJSON(response), kept.String
		out = append(out, v)
		return err
	})
	return out, err
}

// BatchTimes returns when the batches of versions were stored, of those that are in the
// database.
func BatchTimes(ask bodies.Ask, page []bodies.Stored) (map[int64]int64, error) {
	var batches []int64
	for i := range page {
		if batch := page[i].ID >> bodies.Bits; len(batches) == 0 || batches[len(batches)-1] != batch {
			batches = append(batches, batch)
		}
	}
	out := map[int64]int64{}
	for chunk := range slices.Chunk(batches, kernel.IDsPerStatement) {
		list := make([]any, kernel.IDsPerStatement)
		for i := range list { // padded, so that there is one statement
			list[i] = chunk[min(i, len(chunk)-1)]
		}
		rows, err := ask("SELECT id, created_at FROM ing_task_run_batch WHERE id IN (?"+strings.Repeat(",?", len(list)-1)+")", list...)
		if err != nil {
			return nil, err
		}
		if err := kernel.Each(rows, func() error {
			var id, created int64
			err := rows.Scan(&id, &created)
			out[id] = created
			return err
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}
