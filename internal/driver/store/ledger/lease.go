package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// leasedStep runs a step of an attempt. It begins with the fence (I7), which also
// tells the time; held is filled before do is called.
func (s *Ledger) leasedStep(ctx context.Context, name string, in kernel.Lane, l ingest.Lease, held *ingest.Held, do func(*tx) error) error {
	return s.stepFrom(ctx, name, in, func(t *tx) (err error) {
		*held, err = t.fenceLease(l, "", nil)
		return err
	}, do)
}

// fenceLease is the first statement of every write of an attempt (I7): it locks the
// task, refuses a stale epoch, and tells the time and what the operator wants.
// Who needs more of what is known then asks for it as columns, with their
// arguments: one question instead of several.
func (t *tx) fenceLease(l ingest.Lease, columns string, args []any, into ...any) (held ingest.Held, err error) {
	var clock sql.NullInt64
	query := "SELECT " + t.ClockColumn() + ", p.cancel_requested, " + look.IsPaused + " OR " + isHeld + columns +
		" FROM ing_task p WHERE p.id = ? AND p.lease_epoch = ? AND p.status_code IN ('DISPATCHED','EXECUTING')" + t.Dialect().ForUpdate
	err = t.Row(query, append(args, l.TaskID, l.Epoch)...).Scan(append([]any{&clock, &held.Cancel, &held.Pause}, into...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return held, fault.ErrStale
	}
	t.SetClock(clock)
	return held, err
}

// extendLease moves the end of a lease that the fence has locked.
func (t *tx) extendLease(l ingest.Lease, by time.Duration) (until time.Time, err error) {
	until = t.Now.Add(by)
	return until, t.ExecOne("UPDATE ing_task SET leased_until = ?, last_heartbeat_at = ? WHERE id = ?", kernel.Micros(until), kernel.Micros(t.Now), l.TaskID)
}

// Renew extends a lease.
func (s *Ledger) Renew(ctx context.Context, l ingest.Lease, extend time.Duration) (held ingest.Held, err error) {
	err = s.leasedStep(ctx, "renew lease", kernel.Urgent, l, &held, func(t *tx) (err error) {
		held.Until, err = t.extendLease(l, extend)
		return err
	})
	return held, err
}
