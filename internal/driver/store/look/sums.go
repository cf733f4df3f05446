package look

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// WorkSums tells what runs did that ended between two instants, by partition and, with a
// step, by time; the oldest first. The range is widened to whole slots.
func (s *Look) WorkSums(ctx context.Context, q view.SumQuery) ([]view.WorkSum, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	out, err := s.readWorkSums(ctx, q, q.Slot(now))
	return out, kernel.Wrap("add up runs", s.db.Translate(err))
}

func (s *Look) readWorkSums(ctx context.Context, q view.SumQuery, slot view.SlotLength) (out []view.WorkSum, err error) {
	from, to := slot.Start(q.From), endOfSlots(slot, q.To)
	step := q.Step.Microseconds()
	if step == 0 {
		step = max(to.Sub(from).Microseconds(), 1)
	}
	where := &kernel.Where{}
	where.Add(true, "slot_seconds = ?", int64(time.Duration(slot).Seconds()))
	where.Add(true, "slot_start >= ?", from.UnixMicro())
	where.Add(true, "slot_start < ?", to.UnixMicro())
	where.Add(q.Source != "", "provenance_code = ?", q.Source)
	where.Add(q.Operation != "", "operation_code = ?", string(q.Operation))
	rows, err := s.db.Query(ctx, WorkSumSQL+where.String()+" GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4", append([]any{from.UnixMicro(), step}, where.Args...)...)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		v, err := scanWorkSum(rows)
		if v.To = v.From.Add(time.Duration(step) * time.Microsecond); v.To.After(to) {
			v.To = to
		}
		out = append(out, v)
		return err
	})
}

// endOfSlots returns the end of the last slot that begins before an instant.
func endOfSlots(slot view.SlotLength, to time.Time) time.Time {
	end := slot.Start(to)
	if end.Before(to) {
		end = end.Add(time.Duration(slot))
	}
	return end
}

// WorkSumSQL adds up slots; its first column is the beginning of the step that they lie
// in. A test holds it to a range of its index.
const WorkSumSQL = `SELECT slot_start - (slot_start - ?) % ?, provenance_code, endpoint_name, operation_code,
  SUM(runs_succeeded), SUM(runs_failed), SUM(runs_partial), SUM(runs_cancelled), SUM(batches), SUM(batches_failed),
  SUM(items_seen), SUM(items_inserted), SUM(items_updated), SUM(items_unchanged), SUM(items_gone), SUM(items_stale), SUM(items_duplicate),
  SUM(items_outside), SUM(items_quarantined), SUM(items_late), SUM(requests), SUM(retries), SUM(throttled), SUM(bytes_in),
  SUM(errors_l1), SUM(errors_l2), SUM(errors_l3), SUM(errors_l4), SUM(answers), SUM(took_ms), MAX(slowest_ms), SUM(wait_ms),
  SUM(took_50ms), SUM(took_100ms), SUM(took_200ms), SUM(took_500ms), SUM(took_1s), SUM(took_2s), SUM(took_5s), SUM(took_10s), SUM(took_30s), SUM(took_longer) FROM ing_work_sum`

func scanWorkSum(rows *sql.Rows) (v view.WorkSum, err error) {
	var from, took, slowest, waited int64
	targets := []any{
		&from, &v.Source, &v.Endpoint, &v.Operation, &v.Runs.Succeeded, &v.Runs.Failed, &v.Runs.Partial, &v.Runs.Cancelled, &v.Batches, &v.FailedBatches,
		&v.Items.Seen, &v.Items.Inserted, &v.Items.Updated, &v.Items.Unchanged, &v.Items.Gone, &v.Items.Stale, &v.Items.Duplicate,
		&v.Items.Outside, &v.Items.Quarantined, &v.Items.Late, &v.Requests, &v.Retries, &v.Throttled, &v.BytesIn,
		&v.Errors.L1, &v.Errors.L2, &v.Errors.L3, &v.Errors.L4, &v.Answers, &took, &slowest, &waited,
	}
	for n := range v.Latencies {
		targets = append(targets, &v.Latencies[n])
	}
	err = rows.Scan(targets...)
	v.Items.Excluded = v.Items.LeftOut()
	v.From = time.UnixMicro(from).UTC()
	v.Took, v.Slowest, v.Waited = time.Duration(took)*time.Millisecond, time.Duration(slowest)*time.Millisecond, time.Duration(waited)*time.Millisecond
	return v, err
}

// ErrorSums tells which errors runs met that ended between two instants, the most
// frequent first. An hour that lies in the range in part counts as a whole, unless the
// error was last met before the range.
func (s *Look) ErrorSums(ctx context.Context, q view.ErrorQuery) ([]view.ErrorSum, error) {
	out, err := s.readErrorSums(ctx, q)
	return out, kernel.Wrap("add up errors", s.db.Translate(err))
}

func (s *Look) readErrorSums(ctx context.Context, q view.ErrorQuery) (out []view.ErrorSum, err error) {
	where := &kernel.Where{}
	where.Add(true, "slot_start >= ?", view.HourSlot.Start(q.From).UnixMicro())
	where.Add(true, "slot_start < ?", q.To.UnixMicro())
	where.Add(true, "last_at >= ?", q.From.UnixMicro())
	where.Add(q.Source != "", "provenance_code = ?", q.Source)
	where.Add(q.Operation != "", "operation_code = ?", string(q.Operation))
	where.Add(q.Level != "", "level_code = ?", string(q.Level))
	rows, err := s.db.Query(ctx, errorSums+where.String(), where.Args...)
	if err != nil {
		return nil, err
	}
	place := map[errorKey]int{}
	err = kernel.Each(rows, func() error {
		var v view.ErrorSum
		var last int64
		if err := rows.Scan(&v.Source, &v.Endpoint, &v.Operation, &v.Level, &v.Code, &v.Times, &last, &v.RunID, &v.BatchNo); err != nil {
			return err
		}
		v.LastAt = time.UnixMicro(last).UTC()
		key := errorKey{v.Source, v.Endpoint, v.Operation, v.Level, v.Code}
		n, known := place[key]
		if !known {
			place[key], out = len(out), append(out, v)
			return nil
		}
		v.Times += out[n].Times
		if !v.LastAt.After(out[n].LastAt) {
			v.LastAt, v.RunID, v.BatchNo = out[n].LastAt, out[n].RunID, out[n].BatchNo
		}
		out[n] = v
		return nil
	})
	slices.SortFunc(out, func(a, b view.ErrorSum) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Level, b.Level), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Source, b.Source),
			cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Operation, b.Operation))
	})
	return out, err
}

const errorSums = "SELECT provenance_code, endpoint_name, operation_code, level_code, error_code, times, last_at, run_id, batch_no FROM ing_error_sum"

type errorKey struct {
	source, endpoint string
	operation        ingest.Operation
	level            fault.Level
	code             string
}
