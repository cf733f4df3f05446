package look

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// campaignSQL finds the cursors of backfills that asked one question: those of
// campaigns, and those of plans without one. A cursor that was filled under two
// questions proves neither.
const campaignSQL = `SELECT c.id FROM ing_cursor c JOIN ing_campaign g ON g.cursor_id = c.id
  WHERE g.provenance_code = ? AND g.endpoint_name = ? AND g.expr_proto_hash = ? AND c.cursor_key = ?
 UNION SELECT c.id FROM ing_cursor c JOIN (SELECT cursor_id FROM ing_plan WHERE provenance_code = ? AND operation_code = 'BACKFILL' AND endpoint_name = ?
  GROUP BY cursor_id HAVING MIN(expr_proto_hash) = ? AND MAX(expr_proto_hash) = ?) p ON p.cursor_id = c.id WHERE c.cursor_key = ?`

// CampaignCoverage returns what backfills that asked the question of a harvest have
// read and waived (D§5.7), laid over one another. It moves no cursor of the harvest (I6).
func (s *Look) CampaignCoverage(ctx context.Context, d ingest.Dataset, field, exprHash string) (out []coverage.Segment, err error) {
	err = s.eachBackfill(ctx, campaignSQL, d, field, exprHash, func(book []coverage.Segment) { out = coverage.Overlay(out, book) })
	return out, err
}

// wantedSQL leaves out the campaigns that a person has cancelled: nobody wants their rest.
const wantedSQL = "SELECT b.id FROM (" + campaignSQL + `) b
  WHERE NOT EXISTS (SELECT 1 FROM ing_campaign x WHERE x.cursor_id = b.id AND x.state_code = '` + string(ingest.CampaignCancelled) + "')"

// BackfillBooks returns the segments of each backfill that asked the question of a harvest,
// with or without a campaign: what one owes or failed to read is lost where they are laid
// over one another.
func (s *Look) BackfillBooks(ctx context.Context, d ingest.Dataset, field, exprHash string) (out [][]coverage.Segment, err error) {
	err = s.eachBackfill(ctx, wantedSQL, d, field, exprHash, func(book []coverage.Segment) { out = append(out, book) })
	return out, err
}

func (s *Look) eachBackfill(ctx context.Context, statement string, d ingest.Dataset, field, exprHash string, take func([]coverage.Segment)) error {
	rows, err := s.db.Query(ctx, statement, d.Source, d.Endpoint, exprHash, field, d.Source, d.Endpoint, exprHash, exprHash, field)
	if err != nil {
		return kernel.Wrap("find campaigns", s.db.Translate(err))
	}
	var ids []int64
	if err := kernel.Each(rows, func() error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}); err != nil {
		return kernel.Wrap("find campaigns", s.db.Translate(err))
	}
	for _, id := range ids {
		book, err := s.Segments(ctx, id)
		if err != nil {
			return err
		}
		take(book)
	}
	return nil
}

// mostMarks bounds what is read about single windows: a source in trouble for
// years has more than anybody looks at.
const mostMarks = 20_000

// openSQL finds the windows whose tasks wait or are worked on for a cursor.
var openSQL = `SELECT g.cursor_id, s.window_from, s.window_to FROM ing_partition p
  JOIN ing_task t ON t.partition_id = p.id AND t.status_code IN (` + kernel.Marks(len(ingest.OpenTasks())) + `) JOIN ing_plan_slice s ON s.id = t.slice_id
  JOIN ing_plan g ON g.id = t.plan_id AND g.cursor_id = ?
  WHERE p.provenance_code = ? AND p.endpoint_name = ? AND p.operation_code = ? AND s.window_from IS NOT NULL LIMIT ?`

func openArgs(of ingest.Partition, cursorID int64) (args []any) {
	for _, status := range ingest.OpenTasks() {
		args = append(args, string(status))
	}
	return append(args, cursorID, of.Source, of.Endpoint, string(of.Operation), mostMarks)
}

// OpenWindows returns the windows whose tasks wait or are worked on for a cursor: what
// is owed there is on its way. Tasks of the same partition that ask another
// question bring nothing for it.
func (s *Look) OpenWindows(ctx context.Context, of ingest.Partition, cursorID int64) (out []window.Window, err error) {
	rows, err := s.db.Query(ctx, openSQL, openArgs(of, cursorID)...)
	if err != nil {
		return nil, kernel.Wrap("list open windows", s.db.Translate(err))
	}
	err = kernel.Each(rows, func() error {
		var id int64
		var from, to sql.NullInt64
		err := rows.Scan(&id, &from, &to)
		out = append(out, window.Window{From: kernel.Instant(from), To: kernel.Instant(to)})
		return err
	})
	return window.Union(out), kernel.Wrap("list open windows", err)
}

// FailedWindows returns the windows whose tasks were given up, with the reason. A later
// plan may have read some of them since: the segments tell.
func (s *Look) FailedWindows(ctx context.Context, of ingest.Partition) ([]view.Marked, error) {
	return s.listMarks(ctx, "list failed windows", `SELECT s.window_from, s.window_to, 1, COALESCE(t.last_error_code, ''), t.id FROM ing_partition p
  JOIN ing_task t ON t.partition_id = p.id AND t.status_code IN ('FAILED','PARTIAL') JOIN ing_plan_slice s ON s.id = t.slice_id
  WHERE p.provenance_code = ? AND p.endpoint_name = ? AND p.operation_code = ? AND s.window_from IS NOT NULL LIMIT ?`,
		of.Source, of.Endpoint, string(of.Operation), mostMarks)
}

// QuarantinedWindows returns the windows in which items were rejected and nobody has
// decided about them. Those of plans that were archived have none.
func (s *Look) QuarantinedWindows(ctx context.Context, d ingest.Dataset) ([]view.Marked, error) {
	return s.listMarks(ctx, "list windows with rejects", `SELECT s.window_from, s.window_to, COUNT(*), MIN(q.reason_code), MAX(q.task_id) FROM ing_dataset d
  JOIN ing_quarantine q ON q.dataset_id = d.id AND q.status_code IN ('OPEN','REQUEUED') JOIN ing_plan_slice s ON s.id = q.slice_id
  WHERE d.provenance_code = ? AND d.endpoint_name = ? AND s.window_from IS NOT NULL GROUP BY s.window_from, s.window_to ORDER BY s.window_from LIMIT ?`,
		d.Source, d.Endpoint, mostMarks)
}

// HasQuarantinedOutside reports whether an undecided item was rejected in a window that does not
// lie within one of some.
func (s *Look) HasQuarantinedOutside(ctx context.Context, d ingest.Dataset, within []window.Window) (bool, error) {
	args := []any{d.Source, d.Endpoint}
	for _, w := range within {
		args = append(args, kernel.Micros(w.From), kernel.Micros(w.To))
	}
	var id int64
	found, err := kernel.Found(s.db.QueryRow(ctx, `SELECT q.id FROM ing_dataset d
  JOIN ing_quarantine q ON q.dataset_id = d.id AND q.status_code IN ('OPEN','REQUEUED') JOIN ing_plan_slice s ON s.id = q.slice_id
  WHERE d.provenance_code = ? AND d.endpoint_name = ? AND s.window_from IS NOT NULL`+strings.Repeat(" AND NOT (s.window_from >= ? AND s.window_to <= ?)", len(within))+" LIMIT 1", args...).Scan(&id))
	return found, kernel.Wrap("look for rejects elsewhere", s.db.Translate(err))
}

func (s *Look) listMarks(ctx context.Context, what, query string, args ...any) (out []view.Marked, err error) {
	rows, err := s.db.Query(ctx, query, args...)
	if err != nil {
		return nil, kernel.Wrap(what, s.db.Translate(err))
	}
	return out, kernel.Wrap(what, kernel.Each(rows, func() error {
		var m view.Marked
		var from, to sql.NullInt64
		err := rows.Scan(&from, &to, &m.Count, &m.Code, &m.TaskID)
		m.Window = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}
		out = append(out, m)
		return err
	}))
}

// CoverageAndWork reads the coverage of some cursors, and what waits and is worked on, of one source or of
// all. Both are of one instant: what is owed and planned at the same time is never seen without its
// task.
func (s *Look) CoverageAndWork(ctx context.Context, source string, cursors []view.Cursor) (out view.CoverageAndWork, err error) {
	out = view.CoverageAndWork{Segments: map[int64][]coverage.Segment{}, Open: map[int64][]window.Window{}}
	err = s.db.ReadView(ctx, func(q kernel.Querier) (err error) {
		if out.Work, err = workloadOf(ctx, q, source); err != nil {
			return err
		}
		for some := range slices.Chunk(cursors, askedTogether) {
			if err := readSegments(ctx, q, some, out.Segments); err != nil {
				return err
			}
			if err := readOpen(ctx, q, slices.DeleteFunc(slices.Clone(some), func(c view.Cursor) bool { return !out.IsWorkedOn(c) }), out.Open); err != nil {
				return err
			}
		}
		return nil
	})
	return out, kernel.Wrap("read coverage and work", err)
}

func readSegments(ctx context.Context, q kernel.Querier, cursors []view.Cursor, into map[int64][]coverage.Segment) error {
	args := make([]any, len(cursors))
	for n, c := range cursors {
		args[n], into[c.ID] = c.ID, nil
	}
	rows, err := q.QueryContext(ctx, `SELECT seg_from, seg_to, want_at, have_at, waived_at, fails, retry_after, cursor_id FROM ing_coverage
  WHERE cursor_id IN (`+kernel.Marks(len(cursors))+`) ORDER BY cursor_id, seg_from`, args...)
	if err != nil {
		return err
	}
	return kernel.Each(rows, func() error {
		var id int64
		seg, err := ScanSegment(rows, &id)
		into[id] = append(into[id], seg)
		return err
	})
}

// readOpen reads for some cursors what OpenWindows reads for one.
func readOpen(ctx context.Context, q kernel.Querier, cursors []view.Cursor, into map[int64][]window.Window) error {
	if len(cursors) == 0 {
		return nil
	}
	var args []any
	for _, c := range cursors {
		args = append(args, openArgs(ingest.Partition{Dataset: ingest.Dataset{Source: c.Source, Endpoint: c.Endpoint}, Operation: ingest.Operation(c.Operation)}, c.ID)...)
	}
	rows, err := q.QueryContext(ctx, kernel.UnionOf("SELECT * FROM ("+openSQL+") one", len(cursors)), args...)
	if err != nil {
		return err
	}
	if err := kernel.Each(rows, func() error {
		var id int64
		var from, to sql.NullInt64
		err := rows.Scan(&id, &from, &to)
		into[id] = append(into[id], window.Window{From: kernel.Instant(from), To: kernel.Instant(to)})
		return err
	}); err != nil {
		return err
	}
	for _, c := range cursors {
		into[c.ID] = window.Union(into[c.ID])
	}
	return nil
}

// Workload returns how much waits and is worked on, of one source or of all.
func (s *Look) Workload(ctx context.Context, source string) (out []view.Workload, err error) {
	out, err = workloadOf(ctx, s.db.Reader(), source)
	return out, kernel.Wrap("count work", s.db.Translate(err))
}

func workloadOf(ctx context.Context, q kernel.Querier, source string) (out []view.Workload, err error) {
	statuses := ingest.OpenTasks()
	args := make([]any, 0, len(statuses)+2)
	for _, status := range statuses {
		args = append(args, string(status))
	}
	rows, err := q.QueryContext(ctx, `SELECT p.provenance_code, p.endpoint_name, p.operation_code, p.cooling_until, t.status_code, COUNT(t.id)
  FROM ing_partition p LEFT JOIN ing_task t ON t.partition_id = p.id AND t.status_code IN (?`+strings.Repeat(",?", len(statuses)-1)+`)
  WHERE (? = '' OR p.provenance_code = ?) GROUP BY p.id, p.provenance_code, p.endpoint_name, p.operation_code, p.cooling_until, t.status_code
  ORDER BY p.provenance_code, p.endpoint_name, p.operation_code`, append(args, source, source)...)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		var w view.Workload
		var cooling sql.NullInt64
		var status sql.NullString
		var n int
		if err := rows.Scan(&w.Source, &w.Endpoint, &w.Operation, &cooling, &status, &n); err != nil {
			return err
		}
		w.CoolingUntil = kernel.Instant(cooling)
		if last := len(out) - 1; last >= 0 && out[last].Source == w.Source && out[last].Endpoint == w.Endpoint && out[last].Operation == w.Operation {
			w, out = out[last], out[:last]
		}
		if s := ingest.TaskStatus(status.String); s.Leased() {
			w.Running += n
		} else if status.Valid {
			w.Waiting += n
		}
		out = append(out, w)
		return nil
	})
}
