package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// cameLate reports whether an item came late: its stamp lies in time that had been
// read before, whatever part of its day a mere date stands for. A record that was
// read with another mapping changes because of that, so it tells nothing.
func cameLate(passed window.Window, item *preparedRecord, head *record.Head) bool {
	return passed.Contains(item.UpdatedAt) && !item.UpdatedBefore.After(passed.To) && (head == nil || head.MappingID == item.MappingID)
}

// cameUnannounced reports whether an item came with a parent that should have changed before. One without a stamp is taken to lie
// in time that had been read: nobody can tell.
func cameUnannounced(before time.Time, item *preparedRecord, head *record.Head) bool {
	return item.UpdatedAt.Before(before) && (head == nil || head.MappingID == item.MappingID)
}

// countLate counts an item that is new or changed, if it came later than it should have.
func countLate(in ingest.BatchCommit, item *preparedRecord, head *record.Head, stats *ingest.BatchStats) {
	if cameLate(in.Passed, item, head) {
		stats.Late++
	}
	if cameUnannounced(in.Swept, item, head) {
		stats.Swept++
	}
}

func (t *tx) notePlanLag(planID, cursorID int64, lag *ingest.PlanLag) error {
	if lag == nil {
		return nil
	}
	var from, to any
	if !lag.Passed.Empty() {
		from, to = kernel.Micros(lag.Passed.From), kernel.Micros(lag.Passed.To)
	}
	_, err := t.Exec("INSERT INTO ing_plan_lag (plan_id, cursor_id, declared_lag_us, safety_lag_us, passed_from, passed_to) VALUES (?,?,?,?,?,?)",
		planID, cursorID, lag.Declared.Microseconds(), lag.SafetyLag.Microseconds(), from, to)
	if err != nil || lag.SafetyLag <= lag.Declared {
		return err
	}
	return t.countPlan(planID, health.RaiseLag)
}

// noteLate adds what a run that ended found. It is done once a run and not with
// every batch: batches of one plan must not wait for each other.
func (t *tx) noteLate(planID int64, stats ingest.BatchStats) error {
	changed := stats.Inserted + stats.Updated
	if changed == 0 {
		return nil
	}
	_, err := t.Exec(`UPDATE ing_plan_lag SET late_items = late_items + ?, changed_items = changed_items + ?, measured_at = ?
  WHERE plan_id = ? AND passed_from IS NOT NULL`, stats.Late, changed, kernel.Micros(t.Now), planID)
	return err
}

// noteLateOf adds what a run found whose worker did not live to say so, and returns the
// run; nil if there is none.
func (t *tx) noteLateOf(l ingest.Lease) (*endedRun, error) {
	var plan int64
	var text sql.NullString
	run := endedRun{status: ingest.RunFailed}
	running, err := kernel.Found(t.Row(`SELECT r.id, r.plan_id, r.stats, p.provenance_code, p.endpoint_name, p.operation_code FROM ing_task_run r
  JOIN ing_task p ON p.id = r.task_id WHERE r.task_id = ? AND r.lease_epoch = ? AND r.status_code = 'RUNNING'`, l.TaskID, l.Epoch).
		Scan(&run.id, &plan, &text, &run.of.Source, &run.of.Endpoint, &run.of.Operation))
	if !running || err != nil {
		return nil, err
	}
	if err := kernel.Decode(text, &run.stats); err != nil {
		return nil, err
	}
	if err := t.noteLate(plan, run.stats.BatchStats); err != nil {
		return nil, err
	}
	if err := t.noteAnswersOf(l.TaskID, run.stats); err != nil {
		return nil, err
	}
	run.stats.Errors = run.stats.Errors.Count(fault.Transient, leaseExpired, 1, run.stats.Pages)
	return &run, nil
}

// The queries of Lateness.
const (
	lateSQL = "SELECT COALESCE(SUM(late_items), 0), COALESCE(SUM(changed_items), 0) FROM ing_plan_lag WHERE cursor_id = ? AND measured_at >= ?"
	lagSQL  = "SELECT safety_lag_us - declared_lag_us FROM ing_plan_lag WHERE cursor_id = ? ORDER BY plan_id DESC LIMIT 1"
)

// Lateness returns what the plans of a namespace measured whose last run ended
// since an instant, and the lag of the newest of all of them. An unknown
// namespace has nothing to tell.
func (s *Ledger) Lateness(ctx context.Context, n ingest.Namespace, since time.Time) (window.Lateness, error) {
	l, err := s.readLateness(ctx, n, since)
	if err != nil {
		return window.Lateness{}, kernel.Wrap("read late arrivals", s.db.Translate(err))
	}
	return l, nil
}

func (s *Ledger) readLateness(ctx context.Context, n ingest.Namespace, since time.Time) (l window.Lateness, err error) {
	var cursor, raised int64
	known, err := kernel.Found(s.db.QueryRow(ctx, `SELECT id FROM ing_cursor WHERE provenance_code = ? AND operation_code = ? AND cursor_key = ?
  AND namespace_scope_code = ? AND namespace_key = ?`, n.Source, string(n.Operation), n.CursorKey, string(n.Scope), n.Key).Scan(&cursor))
	if !known || err != nil {
		return l, err
	}
	if err := s.db.QueryRow(ctx, lateSQL, cursor, since.UnixMicro()).Scan(&l.Late, &l.Changed); err != nil {
		return l, err
	}
	_, err = kernel.Found(s.db.QueryRow(ctx, lagSQL, cursor).Scan(&raised))
	l.Raised = time.Duration(raised) * time.Microsecond
	return l, err
}
