package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// AcquireLease takes the lease of a name unless another owner has it, by the
// store's clock. The epoch rises whenever the lease goes to another owner or was
// released before. Whoever has it already keeps its epoch.
func (s *Ledger) AcquireLease(ctx context.Context, name, owner string, ttl time.Duration) (epoch int64, held bool, err error) {
	err = s.step(ctx, "acquire named lease", kernel.Urgent, func(t *tx) error {
		epoch, held = 0, false
		var holder sql.NullString
		var until sql.NullInt64
		known, err := kernel.Found(t.Row("SELECT owner, epoch, leased_until FROM ing_named_lease WHERE name = ?"+t.Dialect().ForUpdate, name).
			Scan(&holder, &epoch, &until))
		switch ours := holder.String == owner; {
		case err != nil:
			return err
		case !known:
			epoch, held = 1, true
			_, err = t.Exec("INSERT INTO ing_named_lease (name, owner, epoch, leased_until) VALUES (?,?,?,?)", name, owner, epoch, kernel.Micros(t.Now.Add(ttl)))
			return err
		case !ours && holder.Valid && !kernel.Instant(until).Before(t.Now):
			return nil // its last moment still counts
		case !ours:
			epoch++
		}
		held = true
		return t.ExecOne("UPDATE ing_named_lease SET owner = ?, epoch = ?, leased_until = ? WHERE name = ?", owner, epoch, kernel.Micros(t.Now.Add(ttl)), name)
	})
	return epoch, held, err
}

// RenewLease extends a lease. A lease that ran out and was not taken is still
// ours; one that another process took is ErrStale (I7).
func (s *Ledger) RenewLease(ctx context.Context, name, owner string, epoch int64, ttl time.Duration) error {
	return s.step(ctx, "renew named lease", kernel.Urgent, func(t *tx) error {
		n, err := t.Affected("UPDATE ing_named_lease SET leased_until = ? WHERE name = ? AND owner = ? AND epoch = ?", kernel.Micros(t.Now.Add(ttl)), name, owner, epoch)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: lease %s of epoch %d is not ours any more", fault.ErrStale, name, epoch)
		}
		return err
	})
}

// ReleaseLease gives a lease back, so that another need not wait until it runs
// out. One that is not ours is left alone.
func (s *Ledger) ReleaseLease(ctx context.Context, name, owner string, epoch int64) error {
	return s.step(ctx, "release named lease", kernel.Urgent, func(t *tx) error {
		_, err := t.Exec("UPDATE ing_named_lease SET owner = NULL, leased_until = NULL WHERE name = ? AND owner = ? AND epoch = ?", name, owner, epoch)
		return err
	})
}

// LeaseOwners lists who holds named leases, or held one last and did not give it
// back. Those that were buried are left out: nothing of theirs is left to free.
func (s *Ledger) LeaseOwners(ctx context.Context) (out []string, err error) {
	rows, err := s.db.Query(ctx, "SELECT DISTINCT owner FROM ing_named_lease WHERE owner IS NOT NULL AND leased_until <> 0 ORDER BY owner")
	if err != nil {
		return nil, kernel.Wrap("list lease owners", s.db.Translate(err))
	}
	return out, kernel.Wrap("list lease owners", kernel.Each(rows, func() error {
		var owner string
		err := rows.Scan(&owner)
		out = append(out, owner)
		return err
	}))
}
