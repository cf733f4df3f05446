package look

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// What is read of an alert, a message and a silence, for ScanAlert, ScanDelivery and
// ScanSilence.
const (
	AlertColumns    = "a.id, a.rule_name, a.status_code, a.alert_json, a.seen_at, a.absent_at, a.told_at, a.told_severity_code, a.told_count, a.ended_at"
	DeliveryColumns = "m.id, m.receiver_name, m.message_json, m.status_code, m.tries, m.due_at, m.error_msg, m.queued_at, m.sent_at"
	SilenceColumns  = "s.id, s.finding_code, s.provenance_code, s.campaign_name, s.until_at, s.reason, s.actor, s.created_at, s.removed_at"
)

// ScanAlert reads a row of AlertColumns.
func ScanAlert(row kernel.Scanner) (k alert.Kept, err error) {
	var text string
	var severity sql.NullString
	var seen, absent, told, ended sql.NullInt64
	if err := row.Scan(&k.ID, &k.Rule, &k.State, &text, &seen, &absent, &told, &severity, &k.Times, &ended); err != nil {
		return k, err
	}
	k.SeenAt, k.AbsentAt, k.ToldAt, k.EndedAt, k.ToldSeverity = kernel.Instant(seen), kernel.Instant(absent), kernel.Instant(told), kernel.Instant(ended), view.Severity(severity.String)
	if err := json.Unmarshal([]byte(text), &k.Alert); err != nil {
		return k, fmt.Errorf("alert %d: %w", k.ID, err)
	}
	return k, nil
}

// ScanDelivery reads a row of DeliveryColumns.
func ScanDelivery(row kernel.Scanner) (d alert.Delivery, err error) {
	var text string
	var failure sql.NullString
	var due, queued, sent sql.NullInt64
	if err := row.Scan(&d.ID, &d.Receiver, &text, &d.Status, &d.Tries, &due, &failure, &queued, &sent); err != nil {
		return d, err
	}
	d.DueAt, d.QueuedAt, d.SentAt, d.Error = kernel.Instant(due), kernel.Instant(queued), kernel.Instant(sent), failure.String
	if err := json.Unmarshal([]byte(text), &d.Message); err != nil {
		return d, fmt.Errorf("alert message %d: %w", d.ID, err)
	}
	return d, nil
}

// ScanSilence reads a row of SilenceColumns.
func ScanSilence(row kernel.Scanner) (s alert.Silence, err error) {
	var code, source, campaign sql.NullString
	var until, created, removed sql.NullInt64
	err = row.Scan(&s.ID, &code, &source, &campaign, &until, &s.Reason, &s.Actor, &created, &removed)
	s.Code, s.Source, s.Campaign = view.FindingCode(code.String), source.String, campaign.String
	s.Until, s.CreatedAt, s.RemovedAt = kernel.Instant(until), kernel.Instant(created), kernel.Instant(removed)
	return s, err
}

// Alerts lists alerts, newest first.
func (s *Look) Alerts(ctx context.Context, f view.Filter) (out []alert.Kept, err error) {
	source := f.Source
	f.Source = ""
	narrow := func(w *kernel.Where) { w.Add(source != "", "a.provenance_code = ?", source) }
	err = s.listRows(ctx, "list alerts", "SELECT "+AlertColumns+" FROM "+page, "ing_alert", "a", f, narrow, func(rows *sql.Rows) error {
		k, err := ScanAlert(rows)
		out = append(out, k)
		return err
	})
	return out, err
}

// AlertRow reads one alert.
func (s *Look) AlertRow(ctx context.Context, id int64) (alert.Kept, error) {
	k, err := ScanAlert(s.db.QueryRow(ctx, "SELECT "+AlertColumns+" FROM ing_alert a WHERE a.id = ?", id))
	if err = kernel.OrNotFound(err); err != nil {
		return k, fmt.Errorf("alert %d: %w", id, s.db.Translate(err))
	}
	return k, nil
}

// AlertDeliveries lists messages to receivers, newest first.
func (s *Look) AlertDeliveries(ctx context.Context, f view.Filter) (out []alert.Delivery, err error) {
	err = s.listRows(ctx, "list alert messages", "SELECT "+DeliveryColumns+" FROM "+page, "ing_alert_message", "m", f, nil, func(rows *sql.Rows) error {
		d, err := ScanDelivery(rows)
		out = append(out, d)
		return err
	})
	return out, err
}

// AlertMessagesBetween lists the messages that were queued in a range of time, oldest
// first.
func (s *Look) AlertMessagesBetween(ctx context.Context, from, to time.Time) (out []alert.Delivery, err error) {
	rows, err := s.db.Query(ctx, "SELECT "+DeliveryColumns+" FROM ing_alert_message m WHERE m.queued_at >= ? AND m.queued_at <= ? ORDER BY m.id", kernel.Micros(from), kernel.Micros(to))
	if err != nil {
		return nil, kernel.Wrap("list alert messages", s.db.Translate(err))
	}
	return out, kernel.Wrap("list alert messages", kernel.Each(rows, func() error {
		d, err := ScanDelivery(rows)
		out = append(out, d)
		return err
	}))
}

// AlertSilences lists silences, newest first.
func (s *Look) AlertSilences(ctx context.Context, f view.Filter) (out []alert.Silence, err error) {
	err = s.listRows(ctx, "list silences", "SELECT "+SilenceColumns+" FROM "+page, "ing_alert_silence", "s", f, nil, func(rows *sql.Rows) error {
		one, err := ScanSilence(rows)
		out = append(out, one)
		return err
	})
	return out, err
}

// DueAlertMessages returns the oldest message of each receiver that is to be sent, if its
// time has come. Those behind it wait: who hears that something is over must have heard
// that it began.
func (s *Look) DueAlertMessages(ctx context.Context) (out []alert.Delivery, err error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, kernel.Wrap("find due alert messages", err)
	}
	rows, err := s.db.Query(ctx, "SELECT "+DeliveryColumns+` FROM (SELECT MIN(id) AS id FROM ing_alert_message WHERE status_code = 'QUEUED' GROUP BY receiver_name) head
  JOIN ing_alert_message m ON m.id = head.id WHERE m.due_at <= ? ORDER BY m.id`, kernel.Micros(now))
	if err != nil {
		return nil, kernel.Wrap("find due alert messages", s.db.Translate(err))
	}
	return out, kernel.Wrap("find due alert messages", kernel.Each(rows, func() error {
		d, err := ScanDelivery(rows)
		out = append(out, d)
		return err
	}))
}

// UndeliveredAlerts tells which receivers messages do not reach: given up, or failing
// since an instant.
func (s *Look) UndeliveredAlerts(ctx context.Context, failingSince time.Time) (out []view.Undelivered, err error) {
	rows, err := s.db.Query(ctx, `SELECT m.receiver_name, COUNT(*), MIN(m.queued_at), COALESCE(SUM(m.status_code = 'GIVEN_UP'), 0), MAX(m.id) FROM ing_alert_message m
  WHERE m.status_code = 'GIVEN_UP' OR m.status_code = 'QUEUED' AND m.tries > 0 AND m.queued_at <= ? GROUP BY m.receiver_name ORDER BY m.receiver_name`, kernel.Micros(failingSince))
	if err != nil {
		return nil, kernel.Wrap("find undelivered alerts", s.db.Translate(err))
	}
	var newest []int64
	if err := kernel.Each(rows, func() error {
		var u view.Undelivered
		var since sql.NullInt64
		var last int64
		err := rows.Scan(&u.Receiver, &u.Messages, &since, &u.GivenUp, &last)
		u.Since = kernel.Instant(since)
		out, newest = append(out, u), append(newest, last)
		return err
	}); err != nil {
		return nil, kernel.Wrap("find undelivered alerts", err)
	}
	for i, id := range newest {
		var text sql.NullString
		if _, err := kernel.Found(s.db.QueryRow(ctx, "SELECT error_msg FROM ing_alert_message WHERE id = ?", id).Scan(&text)); err != nil {
			return nil, kernel.Wrap("find undelivered alerts", s.db.Translate(err))
		}
		out[i].Error = text.String
	}
	return out, nil
}
