package alarm

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// NoteAlertTry writes down what became of a message that was sent: failure is empty if its
// receiver has it. A try that was noted before is not counted again.
func (s *Alarm) NoteAlertTry(ctx context.Context, tried alert.Delivery, failure string, refused bool) (now alert.Delivery, err error) {
	err = s.step(ctx, "note alert try", kernel.Urgent, func(t *tx) error {
		now, err = look.ScanDelivery(t.Row("SELECT "+look.DeliveryColumns+" FROM ing_alert_message m WHERE m.id = ?"+t.Dialect().ForUpdate, tried.ID))
		if err = kernel.OrNotFound(err); err != nil {
			return fmt.Errorf("alert message %d: %w", tried.ID, err)
		}
		if now.Status != alert.Queued || now.Tries != tried.Tries {
			return nil
		}
		now = now.AfterTry(t.Now, kernel.Cut(failure, 512), refused)
		return t.ExecOne("UPDATE ing_alert_message SET status_code = ?, tries = ?, due_at = ?, error_msg = ?, sent_at = ? WHERE id = ?",
			string(now.Status), now.Tries, kernel.Micros(now.DueAt), kernel.OrNull(now.Error), kernel.Micros(now.SentAt), now.ID)
	})
	return now, err
}

// RetryAlertMessages makes messages of a receiver due that failed or were given up, with
// all their tries anew: it answers again.
func (s *Alarm) RetryAlertMessages(ctx context.Context, receiver string, by ingest.Act) (messages int, err error) {
	err = s.step(ctx, "retry alert messages", kernel.Urgent, func(t *tx) error {
		ids, err := t.IDs("SELECT id FROM ing_alert_message WHERE receiver_name = ? AND (status_code = 'GIVEN_UP' OR status_code = 'QUEUED' AND tries > 0) ORDER BY id"+t.Dialect().ForUpdate, receiver)
		if messages = len(ids); err != nil || messages == 0 {
			return err
		}
		if err := t.ExecIn("UPDATE ing_alert_message SET status_code = 'QUEUED', tries = 0, due_at = ? WHERE id IN ", ids, kernel.Micros(t.Now)); err != nil {
			return err
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "alert.retry", Object: "receiver/" + receiver, Reason: by.Reason, Detail: map[string]any{"messages": ids}})
	})
	return messages, kernel.Performed(err)
}

// PruneAlerts removes alerts that ended before an instant, messages that are not to be
// sent any more, and silences that are over, some at a time. Messages that were given up
// stay: until somebody has dealt with them they are a finding.
func (s *Alarm) PruneAlerts(ctx context.Context, before time.Time, limit int) error {
	return s.step(ctx, "prune alerts", kernel.Bulk, func(t *tx) error {
		for _, q := range []struct{ find, remove string }{
			{"SELECT id FROM ing_alert WHERE ended_at < ? ORDER BY id LIMIT ?", "DELETE FROM ing_alert WHERE id IN "},
			{"SELECT id FROM ing_alert_message WHERE queued_at < ? AND status_code IN ('SENT','DISCARDED') ORDER BY id LIMIT ?", "DELETE FROM ing_alert_message WHERE id IN "},
			{"SELECT id FROM ing_alert_silence WHERE until_at < ? ORDER BY id LIMIT ?", "DELETE FROM ing_alert_silence WHERE id IN "},
		} {
			ids, err := t.IDs(q.find, kernel.Micros(before), limit)
			if err == nil {
				err = t.ExecIn(q.remove, ids)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
