package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"math/bits"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// noteWindow keeps what a slice that was read to its end really had, for the
// next estimate of its window (S§5.3). Only slices of time over the date that
// harvests follow are comparable, and only those of a list that is asked for at once. An older reading does not replace a newer one.
func (t *tx) noteWindow(in ingest.Finish, was attempt, s endedSlice) error {
	if in.Outcome.Task != ingest.TaskSucceeded || s.strategy != string(slicing.TIME) || s.operation == ingest.Update || s.window.Empty() || s.sectors > 0 {
		return nil
	}
	count := ingest.WindowCount{Window: s.window, AsOf: s.asOf, RunID: in.Lineage.RunID}
	count.Estimated, count.EstimateSource = estimateOf(s.spec)
	if err := t.measureSlice(in, was, &count); err != nil {
		return err
	}
	return t.saveWindow(s.dataset, s.expr, count)
}

// estimateOf reads what the planner expected. A specification without it, or
// with something else in its place, has none: a slice must be able to end.
func estimateOf(spec string) (*int64, string) {
	var s struct {
		Telemetry slicing.Telemetry `json:"telemetry"`
	}
	if err := json.Unmarshal([]byte(spec), &s); err != nil || s.Telemetry.Estimate == nil {
		return nil, ""
	}
	return &s.Telemetry.Estimate.Count, string(s.Telemetry.Estimate.Source)
}

// measureSlice adds up what the slice cost over all its runs, and what its last pass
// found. The last run alone may have read only the end of the slice, and a pass
// started over finds the same items again.
func (t *tx) measureSlice(in ingest.Finish, was attempt, c *ingest.WindowCount) error {
	var last ingest.Checkpoint
	if err := kernel.Decode(was.checkpoint, &last); err != nil {
		return err
	}
	if was.no == 1 && last.Pass <= 1 { // nearly always: read at once, by one run
		stats := in.Outcome.Stats
		c.Requests, c.Bytes, c.Actual = int64(stats.Requests), stats.BytesIn, itemsWithin(stats.BatchStats)
		return nil
	}
	rows, err := t.Query("SELECT stats FROM ing_task_run WHERE task_id = ?", in.Lease.TaskID)
	if err != nil {
		return err
	}
	err = kernel.Each(rows, func() error {
		stats, err := scanStats(rows)
		c.Requests, c.Bytes = c.Requests+int64(stats.Requests), c.Bytes+stats.BytesIn
		return err
	})
	if err != nil {
		return err
	}
	rows, err = t.Query("SELECT stats FROM ing_task_run_batch WHERE task_id = ? AND pass = ? AND status_code = 'SUCCEEDED'", in.Lease.TaskID, last.Pass)
	if err != nil {
		return err
	}
	return kernel.Each(rows, func() error {
		stats, err := scanStats(rows)
		c.Actual += itemsWithin(stats.BatchStats)
		return err
	})
}

func scanStats(rows kernel.Scanner) (stats ingest.RunStats, err error) {
	var text sql.NullString
	if err := rows.Scan(&text); err != nil {
		return stats, err
	}
	return stats, kernel.Decode(text, &stats)
}

// itemsWithin returns the different items of the window itself.
func itemsWithin(s ingest.BatchStats) int64 {
	return int64(s.Seen - s.Outside - s.Excluded - s.Duplicate)
}

// spanLog2 returns the class of windows of about the same length; see the migration.
func spanLog2(w window.Window) int { return bits.Len64(uint64(w.To.UnixMicro() - w.From.UnixMicro())) }

func (t *tx) saveWindow(dataset, expr int64, c ingest.WindowCount) error {
	key := []any{dataset, expr, spanLog2(c.Window), kernel.Micros(c.Window.From), kernel.Micros(c.Window.To)}
	values := []any{c.Estimated, kernel.OrNull(kernel.Cut(c.EstimateSource, 32)), c.Actual, c.Requests, c.Bytes, kernel.Micros(c.AsOf), c.RunID}
	var known int64
	exists, err := kernel.Found(t.Row("SELECT as_of FROM ing_window_history WHERE "+windowKey+t.Dialect().ForUpdate, key...).Scan(&known))
	switch {
	case err != nil:
		return err
	case !exists:
		_, err = t.Exec(`INSERT INTO ing_window_history (estimated, estimate_code, actual, requests, bytes, as_of, run_id,
  dataset_id, expr_id, span_log2, window_from, window_to) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)`, append(values, key...)...)
		return err
	case known > c.AsOf.UnixMicro():
		return nil
	}
	return t.ExecOne(`UPDATE ing_window_history SET estimated = ?, estimate_code = ?, actual = ?, requests = ?, bytes = ?, as_of = ?, run_id = ?
  WHERE `+windowKey, append(values, key...)...)
}

const windowKey = "dataset_id = ? AND expr_id = ? AND span_log2 = ? AND window_from = ? AND window_to = ?"

// The queries of WindowHistory. Each is a range of the primary key.
const (
	spanSQL    = "SELECT MAX(span_log2) FROM ing_window_history WHERE dataset_id = ? AND expr_id = ? AND span_log2 < ?"
	itemsSQL   = "SELECT window_from, window_to, actual, as_of, run_id" + rangeSQL
	historySQL = "SELECT window_from, window_to, actual, as_of, run_id, estimated, estimate_code, requests, bytes" + rangeSQL
	rangeSQL   = ` FROM ing_window_history
  WHERE dataset_id = ? AND expr_id = ? AND span_log2 = ? AND window_from > ? AND window_from < ? AND window_to > ? ORDER BY window_from, window_to LIMIT ?`
)

// WindowHistory lists what finished slices had that reach into a window, sorted
// by where they begin, at most limit of them. exprHash is that of the plans,
// without a window in it. It reads one short range for each length class there
// is, so its cost is that of its answer.
func (s *Ledger) WindowHistory(ctx context.Context, d ingest.Dataset, exprHash string, within window.Window, limit int) ([]ingest.WindowCount, error) {
	return s.listWindows(ctx, d, exprHash, within, limit, historySQL, func(rows *sql.Rows, c *ingest.WindowCount) error {
		var source sql.NullString
		err := scanItems(rows, c, &c.Estimated, &source, &c.Requests, &c.Bytes)
		c.EstimateSource = source.String
		return err
	})
}

// WindowItems does what WindowHistory does, without what the slices cost: judging days reads
// some hundred rows of each source.
func (s *Ledger) WindowItems(ctx context.Context, d ingest.Dataset, exprHash string, within window.Window, limit int) ([]ingest.WindowCount, error) {
	return s.listWindows(ctx, d, exprHash, within, limit, itemsSQL, func(rows *sql.Rows, c *ingest.WindowCount) error { return scanItems(rows, c) })
}

// WindowItemsOf does what WindowItems does for many questions at once: one statement finds their widest
// windows, and two more for each class of windows read these and find the next.
func (s *Ledger) WindowItemsOf(ctx context.Context, all []ingest.WindowsWanted, limit int) ([][]ingest.WindowCount, error) {
	out := make([][]ingest.WindowCount, len(all))
	for from := 0; from < len(all); from += askedTogether {
		to := min(from+askedTogether, len(all))
		if err := s.readItemsOf(ctx, all[from:to], limit, out[from:to]); err != nil {
			return nil, kernel.Wrap("read window history", s.db.Translate(err))
		}
	}
	for n := range out {
		sortWindows(out[n])
		out[n] = out[n][:min(len(out[n]), limit)]
	}
	return out, nil
}

// askedTogether bounds the parts of a statement.
const askedTogether = 40

const (
	widestOfSQL = `SELECT ? AS n, d.id, f.id, (SELECT MAX(h.span_log2) FROM ing_window_history h WHERE h.dataset_id = d.id AND h.expr_id = f.id)
  FROM ing_dataset d JOIN ing_fingerprint f ON f.kind_code = 'EXPR' AND f.hash = ? WHERE d.provenance_code = ? AND d.endpoint_name = ?`
	nextOfSQL  = "SELECT ?, ?, ?, (" + spanSQL + ")"
	itemsOfSQL = "SELECT * FROM (SELECT window_from, window_to, actual, as_of, run_id, ? AS n" + rangeSQL + ") one"
)

// classOf is a class of windows that one question of several has.
type classOf struct {
	n             int
	dataset, expr int64
	span          int64
}

// readItemsOf reads the windows of some questions, in no order.
func (s *Ledger) readItemsOf(ctx context.Context, all []ingest.WindowsWanted, limit int, into [][]ingest.WindowCount) error {
	var asked, args []any
	parts := 0
	for n, w := range all {
		if !w.Within.Empty() && limit > 0 {
			asked, parts = append(asked, n, w.Question, w.Dataset.Source, w.Dataset.Endpoint), parts+1
		}
	}
	for statement := widestOfSQL; parts > 0; statement = nextOfSQL {
		classes, err := s.findClasses(ctx, kernel.UnionOf(statement, parts), asked)
		if err != nil || len(classes) == 0 {
			return err
		}
		asked, args, parts = nil, nil, len(classes)
		for _, c := range classes {
			from, to := all[c.n].Within.From.UnixMicro(), all[c.n].Within.To.UnixMicro()
			args = append(args, c.n, c.dataset, c.expr, c.span, from-1<<c.span, to, from, limit)
			asked = append(asked, c.n, c.dataset, c.expr, c.dataset, c.expr, c.span)
		}
		rows, err := s.db.Query(ctx, kernel.UnionOf(itemsOfSQL, parts), args...)
		if err != nil {
			return err
		}
		if err := kernel.Each(rows, func() error {
			var c ingest.WindowCount
			var n int
			err := scanItems(rows, &c, &n)
			into[n] = append(into[n], c)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// findClasses returns the classes of windows that a statement finds.
func (s *Ledger) findClasses(ctx context.Context, statement string, args []any) (out []classOf, err error) {
	rows, err := s.db.Query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		var c classOf
		var span sql.NullInt64
		err := rows.Scan(&c.n, &c.dataset, &c.expr, &span)
		if c.span = span.Int64; span.Valid {
			out = append(out, c)
		}
		return err
	})
}

// scanItems reads how many items a window had, and what follows in the row.
func scanItems(rows *sql.Rows, c *ingest.WindowCount, rest ...any) error {
	var from, to, asOf int64
	err := rows.Scan(append([]any{&from, &to, &c.Actual, &asOf, &c.RunID}, rest...)...)
	c.Window = window.Window{From: time.UnixMicro(from).UTC(), To: time.UnixMicro(to).UTC()}
	c.AsOf = time.UnixMicro(asOf).UTC()
	return err
}

func (s *Ledger) listWindows(ctx context.Context, d ingest.Dataset, exprHash string, within window.Window, limit int, query string, scan func(*sql.Rows, *ingest.WindowCount) error) ([]ingest.WindowCount, error) {
	out, err := s.eachSpan(ctx, d, exprHash, within, limit, query, scan)
	if err != nil {
		return nil, kernel.Wrap("read window history", s.db.Translate(err))
	}
	sortWindows(out)
	return out[:min(len(out), limit)], nil
}

func sortWindows(all []ingest.WindowCount) {
	slices.SortFunc(all, func(a, b ingest.WindowCount) int {
		return cmp.Or(a.Window.From.Compare(b.Window.From), a.Window.To.Compare(b.Window.To))
	})
}

// widestSpanSQL finds a dataset and a question, and the widest class of windows they have.
const widestSpanSQL = `SELECT d.id, f.id, (SELECT MAX(h.span_log2) FROM ing_window_history h WHERE h.dataset_id = d.id AND h.expr_id = f.id)
  FROM ing_dataset d JOIN ing_fingerprint f ON f.kind_code = 'EXPR' AND f.hash = ? WHERE d.provenance_code = ? AND d.endpoint_name = ?`

func (s *Ledger) eachSpan(ctx context.Context, d ingest.Dataset, exprHash string, within window.Window, limit int, query string, scan func(*sql.Rows, *ingest.WindowCount) error) (out []ingest.WindowCount, err error) {
	var dataset, expr int64
	var span sql.NullInt64
	known, err := kernel.Found(s.db.QueryRow(ctx, widestSpanSQL, exprHash, d.Source, d.Endpoint).Scan(&dataset, &expr, &span))
	if err != nil || !known || within.Empty() || limit <= 0 {
		return nil, err
	}
	from, to := within.From.UnixMicro(), within.To.UnixMicro()
	for span.Valid {
		rows, err := s.db.Query(ctx, query, dataset, expr, span.Int64, from-1<<span.Int64, to, from, limit)
		if err != nil {
			return nil, err
		}
		if err := kernel.Each(rows, func() error {
			out = append(out, ingest.WindowCount{})
			return scan(rows, &out[len(out)-1])
		}); err != nil {
			return nil, err
		}
		if err := s.db.QueryRow(ctx, spanSQL, dataset, expr, span.Int64).Scan(&span); err != nil {
			return nil, err
		}
	}
	return out, nil
}
