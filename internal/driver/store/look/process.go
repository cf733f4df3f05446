package look

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// ProcessRows lists the processes whose signs of life are stored: those that live, and
// those that ended without shutting down, the oldest first.
func (s *Look) ProcessRows(ctx context.Context) (out []view.Process, err error) {
	rows, err := s.db.Query(ctx, "SELECT executor_id, host, pid, roles, started_at, heartbeat_at, alive_until FROM ing_executor ORDER BY started_at, executor_id")
	if err != nil {
		return nil, kernel.Wrap("list processes", s.db.Translate(err))
	}
	return out, kernel.Wrap("list processes", kernel.Each(rows, func() error {
		var p view.Process
		var since, heard, until sql.NullInt64
		err := rows.Scan(&p.ID, &p.Host, &p.PID, &p.Roles, &since, &heard, &until)
		p.Since, p.HeardAt, p.AliveUntil = kernel.Instant(since), kernel.Instant(heard), kernel.Instant(until)
		out = append(out, p)
		return err
	}))
}

// heldPlans are the plans whose requests are used up. Limits that hold plans are few, and
// mostly there are none.
const heldPlans = `SELECT p.id, p.provenance_code, p.endpoint_name, p.operation_code, p.cursor_id, COALESCE(g.name, ''), p.window_from, p.window_to, l.id, l.max_requests, l.taken, l.used_up_at,
  (SELECT COUNT(*) FROM ing_task t WHERE t.plan_id = p.id AND t.status_code IN ('SCHEDULED','QUEUED'))
  FROM ing_request_limit l JOIN ing_plan p ON p.limit_id = l.id LEFT JOIN ing_campaign g ON g.cursor_id = p.cursor_id
  WHERE l.holds = 1 AND p.status_code IN ('SLICING','PARTIAL','READY') AND (? = '' OR p.provenance_code = ?) ORDER BY p.id`

// HeldPlans lists the plans, of one source or of all, that wait because the requests of their
// limit are used up.
func (s *Look) HeldPlans(ctx context.Context, source string) (out []view.HeldPlan, err error) {
	rows, err := s.db.Query(ctx, heldPlans, source, source)
	if err != nil {
		return nil, kernel.Wrap("list held plans", s.db.Translate(err))
	}
	return out, kernel.Wrap("list held plans", kernel.Each(rows, func() error {
		var p view.HeldPlan
		var operation string
		var cursor, from, to, at sql.NullInt64
		err := rows.Scan(&p.ID, &p.Partition.Source, &p.Partition.Endpoint, &operation, &cursor, &p.Campaign, &from, &to, &p.Limit.ID, &p.Limit.Max, &p.Limit.Taken, &at, &p.Tasks)
		p.Partition.Operation, p.CursorID, p.Limit.UsedUpAt = ingest.Operation(operation), cursor.Int64, kernel.Instant(at)
		p.Window = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}
		out = append(out, p)
		return err
	}))
}

// idlePlans are the plans that are ready since before an instant, have tasks that are due,
// and were never worked on. Plans that are ready are few, and each is looked up by keys.
const idlePlans = `SELECT p.id, p.provenance_code, p.endpoint_name, p.operation_code, p.updated_at FROM ing_plan p
  WHERE p.status_code = 'READY' AND p.updated_at <= ? AND (? = '' OR p.provenance_code = ?)
  AND EXISTS (SELECT 1 FROM ing_task t WHERE t.plan_id = p.id AND t.status_code = 'QUEUED')
  AND NOT EXISTS (SELECT 1 FROM ing_task_run r WHERE r.plan_id = p.id) ORDER BY p.id`

// IdlePlans lists plans, of one source or of all, that are ready since before an instant and
// of which no task was ever worked on.
func (s *Look) IdlePlans(ctx context.Context, source string, before time.Time) (out []view.IdlePlan, err error) {
	rows, err := s.db.Query(ctx, idlePlans, kernel.Micros(before), source, source)
	if err != nil {
		return nil, kernel.Wrap("list idle plans", s.db.Translate(err))
	}
	return out, kernel.Wrap("list idle plans", kernel.Each(rows, func() error {
		var p view.IdlePlan
		var operation string
		var since sql.NullInt64
		err := rows.Scan(&p.ID, &p.Partition.Source, &p.Partition.Endpoint, &operation, &since)
		p.Partition.Operation, p.Since = ingest.Operation(operation), kernel.Instant(since)
		out = append(out, p)
		return err
	}))
}
