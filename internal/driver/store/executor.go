package store

import (
	"context"
	"time"
)

// ExecutorInfo describes a process that works on the queue.
type ExecutorInfo struct {
	ID, Roles, Host string
	PID             int
}

// Heartbeat says that a process is alive for the next stretch and lists all that
// are, sorted: a process derives its share of the rate limits from its rank
// (D§5.23).
func (s *Store) Heartbeat(ctx context.Context, e ExecutorInfo, alive time.Duration) (ids []string, err error) {
	err = s.step(ctx, "heartbeat", urgent, func(t *tx) error {
		until := micros(t.now.Add(alive))
		n, err := t.affected("UPDATE ing_executor SET heartbeat_at = ?, alive_until = ? WHERE executor_id = ?", micros(t.now), until, e.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			if _, err := t.exec(`INSERT INTO ing_executor (executor_id, roles, host, pid, started_at, heartbeat_at, alive_until) VALUES (?,?,?,?,?,?,?)`,
				e.ID, e.Roles, e.Host, e.PID, micros(t.now), micros(t.now), until); err != nil {
				return err
			}
		}
		rows, err := t.query("SELECT executor_id FROM ing_executor WHERE alive_until >= ? ORDER BY executor_id", micros(t.now))
		if err != nil {
			return err
		}
		ids = nil
		return each(rows, func() error {
			var id string
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
	})
	return ids, err
}

// Farewell removes a process that stops in an orderly way.
func (s *Store) Farewell(ctx context.Context, id string) error {
	return s.step(ctx, "farewell", urgent, func(t *tx) error {
		_, err := t.exec("DELETE FROM ing_executor WHERE executor_id = ?", id)
		return err
	})
}

// Executors lists the processes that are or were at work.
func (s *Store) Executors(ctx context.Context) (out []ExecutorInfo, err error) {
	rows, err := s.read.QueryContext(ctx, "SELECT executor_id, roles, host, pid FROM ing_executor ORDER BY executor_id")
	if err != nil {
		return nil, wrap("list executors", s.dialect.Translate(err))
	}
	return out, wrap("list executors", each(rows, func() error {
		var e ExecutorInfo
		err := rows.Scan(&e.ID, &e.Roles, &e.Host, &e.PID)
		out = append(out, e)
		return err
	}))
}

// Bury ends the leases of a process known to be gone: the reaper finds them
// expired, as it would some time later anyway. Fencing by epoch keeps this safe
// even if the process turns out to live (I7).
func (s *Store) Bury(ctx context.Context, id string) error {
	return s.step(ctx, "bury executor", urgent, func(t *tx) error {
		if _, err := t.exec("UPDATE ing_task SET leased_until = 0 WHERE lease_owner = ? AND status_code IN ('DISPATCHED','EXECUTING')", id); err != nil {
			return err
		}
		_, err := t.exec("DELETE FROM ing_executor WHERE executor_id = ?", id)
		return err
	})
}
