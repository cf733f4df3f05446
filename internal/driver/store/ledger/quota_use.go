package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// QuotaUse returns what was taken of the quotas of a key, and what its open tasks are
// expected to take: each in the hour in which it is due, those that are due in
// this one. A task that has ended sets nothing aside, so nothing has to be
// released when a plan is cancelled or done.
func (s *Ledger) QuotaUse(ctx context.Context, key string) (u gate.Use, err error) {
	if u.Now, err = s.db.Now(ctx); err != nil {
		return u, err
	}
	if err = s.quotasTaken(ctx, key, &u); err == nil {
		err = s.quotasReserved(ctx, key, &u)
	}
	if err == nil {
		u.Cooling, err = s.coolingOf(ctx, key, u.Now)
	}
	if err == nil {
		u.Held, u.HeldBy, err = s.heldBy(ctx, key, u.Now)
	}
	return u, kernel.Wrap("read use of quotas", s.db.Translate(err))
}

func (s *Ledger) quotasTaken(ctx context.Context, key string, u *gate.Use) error {
	rows, err := s.db.Query(ctx, "SELECT quota_name, window_start, taken FROM ing_quota WHERE rate_key = ? AND window_end > ? ORDER BY quota_name", key, kernel.Micros(u.Now))
	if err != nil {
		return err
	}
	return kernel.Each(rows, func() error {
		var t gate.Taken
		var start int64
		err := rows.Scan(&t.Quota, &start, &t.Amount)
		t.Start = time.UnixMicro(start).UTC()
		u.Taken = append(u.Taken, t)
		return err
	})
}

// quotasReserved reads open tasks only: a partition has a bounded stock of them
// (D§5.4), and the index of the queue finds them.
func (s *Ledger) quotasReserved(ctx context.Context, key string, u *gate.Use) error {
	rows, err := s.db.Query(ctx, `SELECT t.scheduled_at - t.scheduled_at % 3600000000 AS due_hour, SUM(t.reserved_requests) FROM ing_partition p
  JOIN ing_task t ON t.partition_id = p.id WHERE p.rate_key = ? AND t.status_code IN ('SCHEDULED','QUEUED','DISPATCHED','EXECUTING')
  AND t.reserved_requests > 0 GROUP BY t.scheduled_at - t.scheduled_at % 3600000000 ORDER BY due_hour`, key)
	if err != nil {
		return err
	}
	now := u.Now.UTC().Truncate(time.Hour)
	return kernel.Each(rows, func() error {
		var hour int64
		var r gate.Reserved
		if err := rows.Scan(&hour, &r.Requests); err != nil {
			return err
		}
		if r.Hour = time.UnixMicro(hour).UTC(); r.Hour.Before(now) {
			r.Hour = now
		}
		if n := len(u.Reserved); n > 0 && u.Reserved[n-1].Hour.Equal(r.Hour) {
			u.Reserved[n-1].Requests += r.Requests
			return nil
		}
		u.Reserved = append(u.Reserved, r)
		return nil
	})
}

// coolingOf returns when the upstream lets requests of a key leave again, as the gate
// or a task that was put back noted it. A quota of our own is no wish of the
// upstream.
func (s *Ledger) coolingOf(ctx context.Context, key string, now time.Time) (time.Time, error) {
	var noted, put sql.NullInt64
	err := s.db.QueryRow(ctx, "SELECT (SELECT until FROM ing_rate_pause WHERE rate_key = ?), (SELECT MAX(cooling_until) FROM ing_partition WHERE rate_key = ? AND (cooling_code IS NULL OR cooling_code = 'COOLING'))",
		key, key).Scan(&noted, &put)
	at := kernel.Instant(noted)
	if kernel.Instant(put).After(at) {
		at = kernel.Instant(put)
	}
	if !at.After(now) {
		return time.Time{}, err
	}
	return at, err
}

// heldBy returns until when, and for which reason of our own, partitions of a key are
// left alone; the longest such wait.
func (s *Ledger) heldBy(ctx context.Context, key string, now time.Time) (until time.Time, why gate.Reason, err error) {
	var at sql.NullInt64
	known, err := kernel.Found(s.db.QueryRow(ctx, `SELECT cooling_until, cooling_code FROM ing_partition WHERE rate_key = ? AND cooling_until > ? AND cooling_code IN (?,?,?)
  ORDER BY cooling_until DESC, id LIMIT 1`, append([]any{key, kernel.Micros(now)}, look.OwnWaits()...)...).Scan(&at, &why))
	if !known || err != nil {
		return time.Time{}, "", err
	}
	return kernel.Instant(at), why, nil
}

// RateHolds lists what is left alone because of its rate key, by key.
func (s *Ledger) RateHolds(ctx context.Context) (map[string][]view.RateHold, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.look.Partitions(ctx)
	out := map[string][]view.RateHold{}
	for _, q := range all {
		if q.CoolingUntil.After(now) {
			out[q.RateKey] = append(out[q.RateKey], view.RateHold{
				Source: q.Partition.Source, Endpoint: q.Partition.Endpoint, Operation: string(q.Partition.Operation), Reason: q.CoolingCode, Until: q.CoolingUntil,
			})
		}
	}
	return out, kernel.Wrap("list holds", err)
}
