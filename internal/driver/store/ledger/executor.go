package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Heartbeat says that a process is alive for the next range and what it does
// now, and lists all that are alive, sorted. It also forgets processes that ended without
// shutting down and whose roles it has: all of them when it begins, later the long-gone ones.
func (s *Ledger) Heartbeat(ctx context.Context, e ingest.Process, alive time.Duration) (living []ingest.Process, err error) {
	err = s.step(ctx, "heartbeat", kernel.Urgent, func(t *tx) error {
		until := kernel.Micros(t.Now.Add(alive))
		n, err := t.Affected("UPDATE ing_executor SET roles = ?, heartbeat_at = ?, alive_until = ? WHERE executor_id = ?", e.Roles, kernel.Micros(t.Now), until, e.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			if _, err := t.Exec(`INSERT INTO ing_executor (executor_id, roles, host, pid, started_at, heartbeat_at, alive_until) VALUES (?,?,?,?,?,?,?)`,
				e.ID, e.Roles, e.Host, e.PID, kernel.Micros(t.Now), kernel.Micros(t.Now), until); err != nil {
				return err
			}
		}
		if err := t.forgetGone(e, n == 0); err != nil {
			return err
		}
		rows, err := t.Query(livingSQL, kernel.Micros(t.Now))
		if err != nil {
			return err
		}
		living, err = scanExecutors(rows)
		return err
	})
	return living, err
}

// remembered is how long a process that ended without shutting down is known, where others have
// its roles: long enough to be seen by people who look once a day.
const remembered = 24 * time.Hour

// forgetGone removes the signs of life of processes that ended without shutting down and whose
// roles e has: all of them when it begins, later those that went long ago. Without that
// they would be told of again when e has left.
func (t *tx) forgetGone(e ingest.Process, begins bool) error {
	before := t.Now
	if !begins {
		before = before.Add(-remembered)
	}
	rows, err := t.Query(executorSQL+" WHERE alive_until < ?", kernel.Micros(before))
	if err != nil {
		return err
	}
	gone, err := scanExecutors(rows)
	if err != nil {
		return err
	}
	for _, p := range gone {
		if p.ID == e.ID || len(ingest.LacksRoles(p.Roles, e.Roles)) > 0 {
			continue
		}
		if _, err := t.Exec("DELETE FROM ing_rate_report WHERE executor_id = ?", p.ID); err != nil {
			return err
		}
		if _, err := t.Exec("DELETE FROM ing_executor WHERE executor_id = ? AND alive_until < ?", p.ID, kernel.Micros(before)); err != nil {
			return err
		}
	}
	return nil
}

const (
	executorSQL = "SELECT executor_id, roles, host, pid FROM ing_executor"
	livingSQL   = executorSQL + " WHERE alive_until >= ? ORDER BY executor_id"
)

func scanExecutors(rows *sql.Rows) (out []ingest.Process, err error) {
	return out, kernel.Each(rows, func() error {
		var e ingest.Process
		err := rows.Scan(&e.ID, &e.Roles, &e.Host, &e.PID)
		out = append(out, e)
		return err
	})
}

// Living lists the processes that are alive, as Heartbeat does, for one that
// must not write.
func (s *Ledger) Living(ctx context.Context) ([]ingest.Process, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, livingSQL, kernel.Micros(now))
	if err != nil {
		return nil, kernel.Wrap("list living processes", s.db.Translate(err))
	}
	out, err := scanExecutors(rows)
	return out, kernel.Wrap("list living processes", err)
}

// Farewell removes a process that stops in an orderly way. What it could not give
// back is free at once, and that it stopped is not counted against the task. The
// lease ends as if it had run out, so a worker that is still at it is found stale
// as soon as another one has the task (I7).
func (s *Ledger) Farewell(ctx context.Context, id string) error {
	return s.step(ctx, "farewell", kernel.Urgent, func(t *tx) error {
		if _, err := t.Exec(`UPDATE ing_task SET leased_until = 0, idle_leases = CASE WHEN idle_leases > 0 THEN idle_leases - 1 ELSE 0 END
  WHERE lease_owner = ? AND leased_until <> 0 AND status_code IN ('DISPATCHED','EXECUTING')`, id); err != nil {
			return err
		}
		return t.forgetProcess(id)
	})
}

// Executors lists the processes that are or were at work.
func (s *Ledger) Executors(ctx context.Context) ([]ingest.Process, error) {
	rows, err := s.db.Query(ctx, executorSQL+" ORDER BY executor_id")
	if err != nil {
		return nil, kernel.Wrap("list executors", s.db.Translate(err))
	}
	out, err := scanExecutors(rows)
	return out, kernel.Wrap("list executors", err)
}

// Bury ends the leases of a process known to be gone, named ones included: the
// reaper, or who asks for them, finds them expired, as it would some time later
// anyway. Fencing by epoch keeps this safe even if the process turns out to live
// (I7).
func (s *Ledger) Bury(ctx context.Context, id string) error {
	return s.step(ctx, "bury executor", kernel.Urgent, func(t *tx) error {
		if _, err := t.Exec("UPDATE ing_task SET leased_until = 0 WHERE lease_owner = ? AND status_code IN ('DISPATCHED','EXECUTING')", id); err != nil {
			return err
		}
		if _, err := t.Exec("UPDATE ing_named_lease SET leased_until = 0 WHERE owner = ?", id); err != nil {
			return err
		}
		return t.forgetProcess(id)
	})
}

func (t *tx) forgetProcess(id string) error {
	if _, err := t.Exec("DELETE FROM ing_rate_report WHERE executor_id = ?", id); err != nil {
		return err
	}
	if err := t.departMember(id); err != nil {
		return err
	}
	_, err := t.Exec("DELETE FROM ing_executor WHERE executor_id = ?", id)
	return err
}
