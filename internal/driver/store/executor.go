package store

import (
	"context"
	"database/sql"
	"time"
)

// ExecutorInfo describes a process that works on the queue, or asks upstreams for
// another reason.
type ExecutorInfo struct {
	ID, Roles, Host string
	PID             int
}

// Heartbeat says that a process is alive for the next stretch and what it does
// now, and lists all that are alive, sorted: a process derives its share of the
// rate limits from its rank (D§5.23).
func (s *Store) Heartbeat(ctx context.Context, e ExecutorInfo, alive time.Duration) (living []ExecutorInfo, err error) {
	err = s.step(ctx, "heartbeat", urgent, func(t *tx) error {
		until := micros(t.now.Add(alive))
		n, err := t.affected("UPDATE ing_executor SET roles = ?, heartbeat_at = ?, alive_until = ? WHERE executor_id = ?", e.Roles, micros(t.now), until, e.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			if _, err := t.exec(`INSERT INTO ing_executor (executor_id, roles, host, pid, started_at, heartbeat_at, alive_until) VALUES (?,?,?,?,?,?,?)`,
				e.ID, e.Roles, e.Host, e.PID, micros(t.now), micros(t.now), until); err != nil {
				return err
			}
		}
		rows, err := t.query(livingSQL, micros(t.now))
		if err != nil {
			return err
		}
		living, err = scanExecutors(rows)
		return err
	})
	return living, err
}

const (
	executorSQL = "SELECT executor_id, roles, host, pid FROM ing_executor"
	livingSQL   = executorSQL + " WHERE alive_until >= ? ORDER BY executor_id"
)

func scanExecutors(rows *sql.Rows) (out []ExecutorInfo, err error) {
	return out, each(rows, func() error {
		var e ExecutorInfo
		err := rows.Scan(&e.ID, &e.Roles, &e.Host, &e.PID)
		out = append(out, e)
		return err
	})
}

// Living lists the processes that are alive, as Heartbeat does, for one that
// must not write.
func (s *Store) Living(ctx context.Context) ([]ExecutorInfo, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.query(ctx, livingSQL, micros(now))
	if err != nil {
		return nil, wrap("list living processes", s.translate(err))
	}
	out, err := scanExecutors(rows)
	return out, wrap("list living processes", err)
}

// Farewell removes a process that stops in an orderly way. What it could not give
// back is free at once, and that it stopped is not held against the task. The
// lease ends as if it had run out, so a worker that is still at it is found stale
// as soon as another one has the task (I7).
func (s *Store) Farewell(ctx context.Context, id string) error {
	return s.step(ctx, "farewell", urgent, func(t *tx) error {
		if _, err := t.exec(`UPDATE ing_task SET leased_until = 0, idle_leases = CASE WHEN idle_leases > 0 THEN idle_leases - 1 ELSE 0 END
  WHERE lease_owner = ? AND leased_until <> 0 AND status_code IN ('DISPATCHED','EXECUTING')`, id); err != nil {
			return err
		}
		return t.forgetProcess(id)
	})
}

// Executors lists the processes that are or were at work.
func (s *Store) Executors(ctx context.Context) ([]ExecutorInfo, error) {
	rows, err := s.query(ctx, executorSQL+" ORDER BY executor_id")
	if err != nil {
		return nil, wrap("list executors", s.translate(err))
	}
	out, err := scanExecutors(rows)
	return out, wrap("list executors", err)
}

// Bury ends the leases of a process known to be gone, named ones included: the
// reaper, or who asks for them, finds them expired, as it would some time later
// anyway. Fencing by epoch keeps this safe even if the process turns out to live
// (I7).
func (s *Store) Bury(ctx context.Context, id string) error {
	return s.step(ctx, "bury executor", urgent, func(t *tx) error {
		if _, err := t.exec("UPDATE ing_task SET leased_until = 0 WHERE lease_owner = ? AND status_code IN ('DISPATCHED','EXECUTING')", id); err != nil {
			return err
		}
		if _, err := t.exec("UPDATE ing_named_lease SET leased_until = 0 WHERE owner = ?", id); err != nil {
			return err
		}
		return t.forgetProcess(id)
	})
}

func (t *tx) forgetProcess(id string) error {
	if _, err := t.exec("DELETE FROM ing_rate_report WHERE executor_id = ?", id); err != nil {
		return err
	}
	if err := t.depart(id); err != nil {
		return err
	}
	_, err := t.exec("DELETE FROM ing_executor WHERE executor_id = ?", id)
	return err
}
