package alarm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// DecideAlerts decides what a look means and queues the messages about it, in one
// transaction: what counts as told is sure to be sent, and what is sent is never decided
// twice. Only who holds the lease may, so that no old look comes after a newer one.
func (s *Alarm) DecideAlerts(ctx context.Context, l alert.Lease, c alert.Config, found []view.Finding) (queued int, err error) {
	err = s.step(ctx, "decide alerts", kernel.Bulk, func(t *tx) error {
		queued = 0
		if err := t.checkLease(l); err != nil {
			return err
		}
		known, err := t.liveAlerts()
		if err != nil {
			return err
		}
		silences, err := t.silencesInForce()
		if err != nil {
			return err
		}
		d := c.Decide(t.Now, found, known, silences)
		if err := t.keepAlerts(d); err != nil {
			return err
		}
		if err := t.discardOthers(c); err != nil {
			return err
		}
		for _, a := range d.Messages {
			if err := t.queueMessage(a); err != nil {
				return err
			}
		}
		queued = len(d.Messages)
		return nil
	})
	return queued, err
}

// checkLease refuses who does not hold the lease any more (I7), and keeps others waiting
// until the transaction ends.
func (t *tx) checkLease(l alert.Lease) error {
	var one int
	held, err := kernel.Found(t.Row("SELECT 1 FROM ing_named_lease WHERE name = ? AND owner = ? AND epoch = ?"+t.Dialect().ForUpdate, l.Name, l.Owner, l.Epoch).Scan(&one))
	if err == nil && !held {
		err = fmt.Errorf("%w: lease %s of epoch %d is not ours any more", fault.ErrStale, l.Name, l.Epoch)
	}
	return err
}

func (t *tx) liveAlerts() (out []alert.Kept, err error) {
	rows, err := t.Query("SELECT " + look.AlertColumns + " FROM ing_alert a WHERE a.live_1 = 'Y' ORDER BY a.id")
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		k, err := look.ScanAlert(rows)
		out = append(out, k)
		return err
	})
}

func (t *tx) silencesInForce() (out []alert.Silence, err error) {
	rows, err := t.Query("SELECT "+look.SilenceColumns+" FROM ing_alert_silence s WHERE s.until_at > ? AND s.removed_at IS NULL ORDER BY s.id", kernel.Micros(t.Now))
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		s, err := look.ScanSilence(rows)
		out = append(out, s)
		return err
	})
}

// keepAlerts writes down how alerts stand.
func (t *tx) keepAlerts(d alert.Decision) error {
	var gone []int64
	for _, k := range d.Forget {
		gone = append(gone, k.ID)
	}
	if err := t.ExecIn("DELETE FROM ing_alert WHERE id IN ", gone); err != nil {
		return err
	}
	for _, k := range d.Keep {
		text, err := json.Marshal(k.Alert)
		if err != nil {
			return err
		}
		var live any
		if k.State.Live() {
			live = "Y"
		}
		if k.ID == 0 {
			_, err = t.Exec(`INSERT INTO ing_alert (rule_name, alert_key, live_1, provenance_code, status_code, alert_json, seen_at, absent_at, told_at, told_severity_code, told_count, ended_at)
  VALUES (?,?,?,?,?,?,?,?,?,?,?,?)`, k.Rule, k.Alert.Key(), live, kernel.OrNull(k.Alert.Subject.Source), string(k.State), string(text), kernel.Micros(k.SeenAt), kernel.Micros(k.AbsentAt),
				kernel.Micros(k.ToldAt), kernel.OrNull(string(k.ToldSeverity)), k.Times, kernel.Micros(k.EndedAt))
		} else {
			_, err = t.Exec(`UPDATE ing_alert SET live_1 = ?, status_code = ?, alert_json = ?, absent_at = ?, told_at = ?, told_severity_code = ?, told_count = ?, ended_at = ? WHERE id = ?`,
				live, string(k.State), string(text), kernel.Micros(k.AbsentAt), kernel.Micros(k.ToldAt), kernel.OrNull(string(k.ToldSeverity)), k.Times, kernel.Micros(k.EndedAt), k.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// queueMessage puts a message behind the others of its receiver.
func (t *tx) queueMessage(a alert.Addressed) error {
	text, err := json.Marshal(a.Message)
	if err != nil {
		return err
	}
	now := alert.Delivery{DueAt: t.Now, QueuedAt: t.Now}
	if a.Message.Kind == alert.Repeated {
		if now, err = t.replaceOlder(a, now); err != nil {
			return err
		}
	}
	_, err = t.Exec("INSERT INTO ing_alert_message (message_id, receiver_name, status_code, message_json, tries, due_at, error_msg, queued_at) VALUES (?,?,?,?,?,?,?,?)",
		a.Message.ID, a.Receiver, string(alert.Queued), string(text), now.Tries, kernel.Micros(now.DueAt), kernel.OrNull(now.Error), kernel.Micros(now.QueuedAt))
	return err
}

// replaceOlder discards messages that wait for a receiver and that a newer one supersedes: who
// was away for a day is told once what lasts, not six times. The newer one takes over since
// when and how often it failed, so that a receiver that is away stays a finding.
func (t *tx) replaceOlder(a alert.Addressed, now alert.Delivery) (alert.Delivery, error) {
	rows, err := t.Query("SELECT "+look.DeliveryColumns+" FROM ing_alert_message m WHERE m.status_code = 'QUEUED' AND m.receiver_name = ? ORDER BY m.id"+t.Dialect().ForUpdate, a.Receiver)
	if err != nil {
		return now, err
	}
	var older []int64
	if err := kernel.Each(rows, func() error {
		d, err := look.ScanDelivery(rows)
		if err != nil || !a.Message.Supersedes(d.Message) {
			return err
		}
		older = append(older, d.ID)
		if d.QueuedAt.Before(now.QueuedAt) {
			now.QueuedAt = d.QueuedAt
		}
		if d.Tries > now.Tries {
			now.Tries, now.DueAt, now.Error = d.Tries, d.DueAt, d.Error
		}
		return nil
	}); err != nil {
		return now, err
	}
	return now, t.ExecIn("UPDATE ing_alert_message SET status_code = '"+string(alert.Discarded)+"', due_at = NULL WHERE id IN ", older)
}

// discardOthers gives messages up whose receivers are not declared any more: nobody could
// send them, and they would stand in the list of what is not delivered for ever.
func (t *tx) discardOthers(c alert.Config) error {
	rows, err := t.Query("SELECT DISTINCT receiver_name FROM ing_alert_message WHERE status_code IN ('QUEUED','GIVEN_UP')")
	if err != nil {
		return err
	}
	var others []string
	if err := kernel.Each(rows, func() error {
		var name string
		err := rows.Scan(&name)
		if !slices.Contains(c.ReceiverNames(), name) {
			others = append(others, name)
		}
		return err
	}); err != nil {
		return err
	}
	for _, name := range others {
		if _, err := t.Exec("UPDATE ing_alert_message SET status_code = ?, due_at = NULL WHERE status_code IN ('QUEUED','GIVEN_UP') AND receiver_name = ?", string(alert.Discarded), name); err != nil {
			return err
		}
	}
	return nil
}
