package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// RetryEvents lets events be tried again that failed or are dead, with all their
// attempts anew. Events that are named are taken all or none; of a source one call
// takes a chunk, and more says that there may be another.
func (s *Outbox) RetryEvents(ctx context.Context, pick event.Pick, by ingest.Act) (done event.Done, more bool, err error) {
	err = s.step(ctx, "retry events", kernel.Bulk, func(t *tx) error {
		done, more, err = t.takeUp(pick, by, "outbox.retry", func(ids []int64) error {
			return t.ExecIn("UPDATE ing_outbox_message SET status_code = 'FAILED', retry_count = 0, next_retry_at = ? WHERE status_code NOT IN ('PENDING','PUBLISHED','SKIPPED') AND id IN ", ids, kernel.Micros(t.Now))
		})
		return err
	})
	return done, more, kernel.Performed(err)
}

// DiscardEvents gives events up that failed or are dead: they are not delivered,
// and those that wait behind them go on.
func (s *Outbox) DiscardEvents(ctx context.Context, pick event.Pick, by ingest.Act) (done event.Done, more bool, err error) {
	err = s.step(ctx, "discard events", kernel.Bulk, func(t *tx) error {
		done, more, err = t.takeUp(pick, by, "outbox.discard", func(ids []int64) error {
			return t.ExecIn("UPDATE ing_outbox_message SET status_code = 'SKIPPED', next_retry_at = NULL WHERE status_code NOT IN ('PENDING','PUBLISHED','SKIPPED') AND id IN ", ids)
		})
		return err
	})
	return done, more, kernel.Performed(err)
}

// takeUp finds the events that were picked, does something to those that can be
// changed, and leaves the act in the audit log.
func (t *tx) takeUp(pick event.Pick, by ingest.Act, action string, do func(ids []int64) error) (done event.Done, more bool, err error) {
	var ids []int64
	if pick.Named() {
		ids, done.Unchanged, err = t.namedEvents(pick.IDs)
	} else {
		ids, err = t.deadEvents(pick.Source)
		more = len(ids) == kernel.OperateAtOnce
	}
	if done.Changed = len(ids); err != nil || len(ids) == 0 {
		return done, more, err
	}
	if err := do(ids); err != nil {
		return done, more, err
	}
	if by.Rehearsal {
		return done, more, kernel.ErrRehearsed
	}
	return done, more, t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: action, Object: pick.String(), Reason: by.Reason, Detail: map[string]any{"events": ids}})
}

func (t *tx) namedEvents(named []int64) (ids []int64, others int, err error) {
	for _, id := range named {
		var status event.Status
		known, err := kernel.Found(t.Row("SELECT status_code FROM ing_outbox_message WHERE id = ?"+t.Dialect().ForUpdate, id).Scan(&status))
		switch {
		case err != nil:
			return nil, 0, err
		case !known:
			return nil, 0, fmt.Errorf("event %d: %w: it was removed after its delivery, or never was", id, fault.ErrNotFound)
		case status == event.Failed || status == event.Dead:
			ids = append(ids, id)
		default:
			others++
		}
	}
	return ids, others, nil
}

// deadEvents returns the events of a source that are not tried automatically any
// more.
func (t *tx) deadEvents(source string) (ids []int64, err error) {
	rows, err := t.Query(`SELECT o.id FROM ing_outbox_message o JOIN ing_dataset d ON d.id = o.aggregate_id
  WHERE o.status_code = 'DEAD' AND d.provenance_code = ? ORDER BY o.id LIMIT ?`, source, kernel.OperateAtOnce)
	if err != nil {
		return nil, err
	}
	return ids, kernel.Each(rows, func() error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
}

// ReplayEvents puts events back that were published or skipped, so that they are
// published once more, with the same ids and bytes. Records are not touched. One
// call looks at a chunk of rows after one, and says where it stopped; the first,
// after row zero, leaves the act in the audit log.
func (s *Outbox) ReplayEvents(ctx context.Context, in event.Replay, after int64, by ingest.Act) (done event.Replayed, err error) {
	err = s.step(ctx, "replay events", kernel.Bulk, func(t *tx) error {
		done = event.Replayed{Next: max(after, in.FromRow-1)}
		rows, err := t.Query(`SELECT o.id, o.status_code, o.created_at, d.provenance_code FROM ing_outbox_message o JOIN ing_dataset d ON d.id = o.aggregate_id
  WHERE o.id > ? ORDER BY o.id LIMIT ?`, done.Next, kernel.OperateAtOnce)
		if err != nil {
			return err
		}
		var ids []int64
		looked := 0
		if err := kernel.Each(rows, func() error {
			var id, created int64
			var status event.Status
			var source string
			err := rows.Scan(&id, &status, &created, &source)
			looked, done.Next = looked+1, id
			if (in.Source == "" || in.Source == source) && created >= unixMicro(in.Since) && (status == event.Published || status == event.Skipped) {
				ids = append(ids, id)
			}
			return err
		}); err != nil {
			return err
		}
		if done.Events, done.End = len(ids), looked < kernel.OperateAtOnce; len(ids) > 0 {
			done.First = ids[0]
		}
		if by.Rehearsal {
			return kernel.ErrRehearsed
		}
		if err := t.ExecIn("UPDATE ing_outbox_message SET status_code = 'PENDING', published_at = NULL, next_retry_at = ? WHERE status_code NOT IN ('PENDING','FAILED','DEAD') AND id IN ", ids, kernel.Micros(t.Now)); err != nil {
			return err
		}
		if !in.Begins || len(ids) == 0 {
			return nil
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "events.replay", Object: in.String(), Reason: by.Reason, Detail: map[string]any{"first": ids[0]}})
	})
	return done, kernel.Performed(err)
}

func unixMicro(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()
}

// FirstEventSince gives a row such that no event that was stored at an instant or
// later stands before it. Rows are numbered in nearly the order of time, so it is
// found by halving; disorder is how far two that wrote at once may be apart.
func (s *Outbox) FirstEventSince(ctx context.Context, at time.Time) (row int64, err error) {
	const disorder = 10 * time.Minute
	var low, high int64
	if err := s.db.QueryRow(ctx, "SELECT COALESCE(MIN(id), 0), COALESCE(MAX(id), 0) + 1 FROM ing_outbox_message").Scan(&low, &high); err != nil {
		return 0, kernel.Wrap("look for an event by time", s.db.Translate(err))
	}
	for low < high {
		middle := low + (high-low)/2
		var id, created int64
		known, err := kernel.Found(s.db.QueryRow(ctx, "SELECT id, created_at FROM ing_outbox_message WHERE id >= ? ORDER BY id LIMIT 1", middle).Scan(&id, &created))
		switch {
		case err != nil:
			return 0, kernel.Wrap("look for an event by time", s.db.Translate(err))
		case !known || created >= at.Add(-disorder).UnixMicro():
			high = middle
		default:
			low = id + 1
		}
	}
	return low, nil
}

// PruneDeliveries removes lines of the delivery log that are older than an instant.
func (s *Outbox) PruneDeliveries(ctx context.Context, before time.Time, limit int) error {
	return s.step(ctx, "prune deliveries", kernel.Bulk, func(t *tx) error {
		rows, err := t.Query("SELECT id, completed_at FROM ing_outbox_relay_log ORDER BY id LIMIT ?", limit)
		if err != nil {
			return err
		}
		var old []int64
		if err := kernel.Each(rows, func() error {
			var id, at int64
			err := rows.Scan(&id, &at)
			if at < before.UnixMicro() {
				old = append(old, id)
			}
			return err
		}); err != nil {
			return err
		}
		return t.ExecIn("DELETE FROM ing_outbox_relay_log WHERE id IN ", old)
	})
}
