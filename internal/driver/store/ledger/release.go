package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// ReleaseRate lets go on what waits for a rate key, for an operator: quotas begin
// anew, a pause of the upstream and what partitions wait for end, breakers close,
// and tasks that were put back are due (D§5.31). Processes that keep any of it in
// memory find the release by RateReleases. Hours are not released: they are no
// state, the file says them.
func (s *Ledger) ReleaseRate(ctx context.Context, key string, by ingest.Act) (done view.RateReleased, err error) {
	if by.Rehearsal {
		done, err = s.previewRelease(ctx, key)
		return done, kernel.Wrap("release rate", s.db.Translate(err))
	}
	err = s.step(ctx, "release rate", kernel.Urgent, func(t *tx) error {
		done = view.RateReleased{Key: key, At: t.Now}
		for _, lift := range []func(string, *view.RateReleased) error{t.dueNow, t.closeBreakers, t.endHolds, t.findPause, t.restartQuotas} {
			if err := lift(key, &done); err != nil {
				return err
			}
		}
		if !done.Changed() {
			return nil // as when a release is repeated whose answer was lost (I8)
		}
		if err := t.markRelease(key); err != nil {
			return err
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "rate.release", Object: "rate/" + key, Reason: by.Reason, Detail: map[string]any{
			"quotas": done.Quotas, "pausedUntil": done.PausedUntil, "breakers": done.Breakers, "held": done.Held, "tasks": done.Tasks,
		}})
	})
	return done, err
}

// previewRelease tells what a release would let go on. It only reads: a step that is undone would wait
// for its turn behind everything that is being stored.
func (s *Ledger) previewRelease(ctx context.Context, key string) (done view.RateReleased, err error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return done, err
	}
	done = view.RateReleased{Key: key, At: now}
	for _, c := range []struct {
		into  *int
		query string
		args  []any
	}{
		{&done.Tasks, "SELECT COUNT(*) FROM ing_task WHERE " + putBackTasks, argsOfTasks(key, now)},
		{&done.Breakers, "SELECT COUNT(*) FROM ing_breaker WHERE " + openBreakers, []any{key}},
		{&done.Held, "SELECT COUNT(*) FROM ing_partition WHERE " + heldPartitions, argsOfHolds(key, now)},
	} {
		if err := s.db.QueryRow(ctx, c.query, c.args...).Scan(c.into); err != nil {
			return done, err
		}
	}
	if done.PausedUntil, err = pausedUntil(s.db.QueryRow(ctx, coolingSQL, key), now); err != nil {
		return done, err
	}
	rows, err := s.db.Query(ctx, usedQuotas, key, kernel.Micros(now))
	if err != nil {
		return done, err
	}
	done.Quotas, err = scanQuotas(rows)
	return done, err
}

// What a release changes, and its preview counts.
const (
	putBackTasks = `status_code = 'SCHEDULED' AND scheduled_at > ? AND wait_code IS NOT NULL AND wait_code <> ?
  AND partition_id IN (SELECT id FROM ing_partition WHERE rate_key = ?)`
	openBreakers = `EXISTS (SELECT 1 FROM ing_partition p WHERE p.rate_key = ?
  AND p.provenance_code = ing_breaker.provenance_code AND p.endpoint_name = ing_breaker.endpoint_name)`
	heldPartitions = "rate_key = ? AND cooling_until > ? AND (cooling_code IS NULL OR cooling_code <> ?)"
	usedQuotas     = "SELECT quota_name, taken FROM ing_quota WHERE rate_key = ? AND window_end > ? AND taken > 0 ORDER BY quota_name"
)

func argsOfTasks(key string, now time.Time) []any {
	return []any{kernel.Micros(now), string(gate.ClosedHours), key}
}

func argsOfHolds(key string, now time.Time) []any {
	return []any{key, kernel.Micros(now), string(gate.ClosedHours)}
}

func scanQuotas(rows *sql.Rows) (out []view.ReleasedQuota, err error) {
	return out, kernel.Each(rows, func() error {
		var q view.ReleasedQuota
		err := rows.Scan(&q.Name, &q.Used)
		out = append(out, q)
		return err
	})
}

// pausedUntil is when a pause of the upstream ends that is not over.
func pausedUntil(row kernel.Scanner, now time.Time) (time.Time, error) {
	var until int64
	known, err := kernel.Found(row.Scan(&until))
	if at := time.UnixMicro(until).UTC(); known && at.After(now) {
		return at, err
	}
	return time.Time{}, err
}

// restartQuotas begins the open windows of a key anew, from now to where they end
// anyhow. Who holds a part of one finds another beginning, and claims anew.
func (t *tx) restartQuotas(key string, done *view.RateReleased) error {
	rows, err := t.Query(usedQuotas+t.Dialect().ForUpdate, key, kernel.Micros(t.Now))
	if err != nil {
		return err
	}
	done.Quotas, err = scanQuotas(rows)
	if err != nil || len(done.Quotas) == 0 {
		return err
	}
	if _, err := t.Exec("UPDATE ing_quota SET window_start = ?, taken = 0, updated_at = ? WHERE rate_key = ? AND window_end > ?",
		kernel.Micros(t.Now), kernel.Micros(t.Now), key, kernel.Micros(t.Now)); err != nil {
		return err
	}
	_, err = t.Exec("DELETE FROM ing_quota_holder WHERE rate_key = ?", key)
	return err
}

func (t *tx) findPause(key string, done *view.RateReleased) (err error) {
	done.PausedUntil, err = pausedUntil(t.Row(coolingSQL+t.Dialect().ForUpdate, key), t.Now)
	return err
}

// markRelease ends a pause of the upstream, and leaves the mark that processes look
// for.
func (t *tx) markRelease(key string) error {
	n, err := t.Affected("UPDATE ing_rate_pause SET until = ?, updated_at = ?, released_at = ? WHERE rate_key = ?", kernel.Micros(t.Now), kernel.Micros(t.Now), kernel.Micros(t.Now), key)
	if err != nil || n > 0 {
		return err
	}
	_, err = t.Exec("INSERT INTO ing_rate_pause (rate_key, until, updated_at, released_at) VALUES (?,?,?,?)", key, kernel.Micros(t.Now), kernel.Micros(t.Now), kernel.Micros(t.Now))
	return err
}

func (t *tx) closeBreakers(key string, done *view.RateReleased) error {
	n, err := t.Affected("DELETE FROM ing_breaker WHERE "+openBreakers, key)
	done.Breakers = int(n)
	return err
}

func (t *tx) endHolds(key string, done *view.RateReleased) error {
	n, err := t.Affected("UPDATE ing_partition SET cooling_until = NULL, cooling_code = NULL WHERE "+heldPartitions, argsOfHolds(key, t.Now)...)
	done.Held = int(n)
	return err
}

// dueNow makes tasks due that the rate gate put back, or that were put off to a
// later window of a quota.
func (t *tx) dueNow(key string, done *view.RateReleased) error {
	at := kernel.Micros(t.Now)
	n, err := t.Affected("UPDATE ing_task SET scheduled_at = ?, wait_code = NULL, updated_at = ? WHERE "+putBackTasks, append([]any{at, at}, argsOfTasks(key, t.Now)...)...)
	done.Tasks = int(n)
	return err
}

// RateReleases tells when keys were released last, those after an instant.
func (s *Ledger) RateReleases(ctx context.Context, after time.Time) (map[string]time.Time, error) {
	rows, err := s.db.Query(ctx, "SELECT rate_key, released_at FROM ing_rate_pause WHERE released_at > ?", kernel.Micros(after))
	if err != nil {
		return nil, kernel.Wrap("list releases", s.db.Translate(err))
	}
	out := map[string]time.Time{}
	return out, kernel.Wrap("list releases", kernel.Each(rows, func() error {
		var key string
		var at int64
		err := rows.Scan(&key, &at)
		out[key] = time.UnixMicro(at).UTC()
		return err
	}))
}
