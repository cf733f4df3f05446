package ledger

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// OpenRequestLimit stores how many requests a trigger may spend. The same trigger twice
// has one limit (I8).
func (s *Ledger) OpenRequestLimit(ctx context.Context, triggerKey string, most int) (l ingest.RequestLimit, err error) {
	err = s.step(ctx, "open request limit", kernel.Bulk, func(t *tx) error {
		var known bool
		var err error
		if l, known, err = scanLimit(t.Row(limitColumns+" WHERE l.trigger_key = ?", triggerKey)); known || err != nil {
			return err
		}
		l = ingest.RequestLimit{Max: most}
		l.ID, err = t.Insert("INSERT INTO ing_request_limit (trigger_key, max_requests, taken, holds, created_at, updated_at) VALUES (?,?,0,0,?,?)",
			triggerKey, most, kernel.Micros(t.Now), kernel.Micros(t.Now))
		return err
	})
	return l, err
}

const limitColumns = "SELECT l.id, l.max_requests, l.taken, l.used_up_at FROM ing_request_limit l"

func scanLimit(row kernel.Scanner) (l ingest.RequestLimit, known bool, err error) {
	var at sql.NullInt64
	known, err = kernel.Found(row.Scan(&l.ID, &l.Max, &l.Taken, &at))
	l.UsedUpAt = kernel.Instant(at)
	return l, known, err
}

// TakeRequests sets what a run has taken of the limit of its plan: what it used, and a
// lot more if it wants to go on. It is counted before anything is sent, so who dies with
// it loses requests and never sends one too many. The first who gets none ends the work
// on the plans of the limit: their tasks are not claimed any more.
func (s *Ledger) TakeRequests(ctx context.Context, in ingest.RequestTake) (g ingest.RequestGrant, err error) {
	err = s.step(ctx, "take requests", kernel.Urgent, func(t *tx) error {
		g = ingest.RequestGrant{}
		var of, mineOf, mine sql.NullInt64
		if err := t.Row("SELECT p.limit_id, r.limit_id, r.limit_taken FROM ing_task_run r JOIN ing_plan p ON p.id = r.plan_id WHERE r.id = ? AND r.plan_id = ?", in.RunID, in.PlanID).
			Scan(&of, &mineOf, &mine); err != nil {
			return kernel.OrNotFound(err)
		}
		if !of.Valid {
			return nil // somebody lifted it
		}
		if of.Int64 != in.LimitID {
			in.Used = 0 // what was sent before belongs to the limit before
		}
		if mineOf.Int64 != of.Int64 {
			mine.Int64 = 0
		}
		return t.takeOf(of.Int64, int(mine.Int64), in, &g)
	})
	return g, err
}

func (t *tx) takeOf(limit int64, mine int, in ingest.RequestTake, g *ingest.RequestGrant) error {
	l, known, err := scanLimit(t.Row(limitColumns+" WHERE l.id = ?"+t.Dialect().ForUpdate, limit))
	if err != nil || !known {
		return kernel.OrNotFound(err)
	}
	others := l.Taken - mine
	g.LimitID, g.Max, g.Total = l.ID, l.Max, in.Used
	if in.More && !l.UsedUp() {
		g.Total += ingest.RequestLot(l.Max - others - in.Used)
	}
	now := kernel.Micros(t.Now)
	if in.More && g.Total == in.Used {
		if err := t.ExecOne("UPDATE ing_request_limit SET holds = CASE WHEN used_up_at IS NULL THEN 1 ELSE holds END, used_up_at = COALESCE(used_up_at, ?), updated_at = ? WHERE id = ?", now, now, l.ID); err != nil {
			return err
		}
	}
	if g.Total == mine {
		return nil
	}
	if err := t.ExecOne("UPDATE ing_task_run SET limit_id = ?, limit_taken = ? WHERE id = ?", l.ID, g.Total, in.RunID); err != nil {
		return err
	}
	return t.ExecOne("UPDATE ing_request_limit SET taken = ?, updated_at = ? WHERE id = ?", others+g.Total, now, l.ID)
}

// SpendRequest takes one request of a limit for a trigger that plans: it has no run yet. The
// request has a name of its own, so that one whose answer got lost is counted once. Should
// another one come in between, it is counted twice: never too few.
func (s *Ledger) SpendRequest(ctx context.Context, limit int64, name string) (granted bool, err error) {
	err = s.step(ctx, "spend a request", kernel.Urgent, func(t *tx) error {
		var last sql.NullString
		if err := t.Row("SELECT spender FROM ing_request_limit WHERE id = ?"+t.Dialect().ForUpdate, limit).Scan(&last); err != nil {
			return kernel.OrNotFound(err)
		}
		if granted = last.String == name; granted {
			return nil
		}
		n, err := t.Affected("UPDATE ing_request_limit SET taken = taken + 1, spender = ?, updated_at = ? WHERE id = ? AND taken < max_requests", name, kernel.Micros(t.Now), limit)
		granted = n > 0
		return err
	})
	return granted, err
}

// LimitPlan puts an open plan under another limit, or under none: whoever goes on with a
// plan says how much may be spent on it from now on. Limits that no open plan is under
// hold nothing any more: claims ask for those that do.
func (s *Ledger) LimitPlan(ctx context.Context, planID, limit int64) error {
	return s.step(ctx, "limit plan", kernel.Bulk, func(t *tx) error {
		now := kernel.Micros(t.Now)
		if _, err := t.Exec("UPDATE ing_plan SET limit_id = ?, updated_at = ? WHERE id = ? AND status_code IN ('SLICING','PARTIAL','READY')", limitOrNull(limit), now, planID); err != nil {
			return err
		}
		_, err := t.Exec(`UPDATE ing_request_limit SET holds = 0, updated_at = ? WHERE holds = 1 AND NOT EXISTS (SELECT 1 FROM ing_plan p
  WHERE p.limit_id = ing_request_limit.id AND p.status_code IN ('SLICING','PARTIAL','READY'))`, now)
		return err
	})
}

func limitOrNull(limit int64) any {
	if limit == 0 {
		return nil
	}
	return limit
}

// RequestLimit returns a limit as it stands.
func (s *Ledger) RequestLimit(ctx context.Context, id int64) (ingest.RequestLimit, error) {
	l, known, err := scanLimit(s.db.QueryRow(ctx, limitColumns+" WHERE l.id = ?", id))
	if err == nil && !known {
		err = kernel.OrNotFound(sql.ErrNoRows)
	}
	return l, kernel.Wrap("read request limit", s.db.Translate(err))
}

// PlanLimit returns the limit of a plan with what is left of the plan; false if it has
// none.
func (s *Ledger) PlanLimit(ctx context.Context, planID int64) (l ingest.PlanLimit, known bool, err error) {
	if l.RequestLimit, known, err = scanLimit(s.db.QueryRow(ctx, limitColumns+" JOIN ing_plan p ON p.limit_id = l.id WHERE p.id = ?", planID)); known && err == nil {
		err = s.db.QueryRow(ctx, `SELECT (SELECT COUNT(*) FROM ing_task WHERE plan_id = ? AND status_code IN ('DISPATCHED','EXECUTING')),
  (SELECT COUNT(*) FROM ing_plan_slice WHERE plan_id = ? AND status_code IN ('PENDING','READY'))`, planID, planID).Scan(&l.Working, &l.Waiting)
	}
	return l, known, kernel.Wrap("read limit of plan", s.db.Translate(err))
}
