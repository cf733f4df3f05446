package alarm

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// SilenceAlerts keeps alerts from being told until an instant. The same silence given
// twice is one.
func (s *Alarm) SilenceAlerts(ctx context.Context, want alert.Silence, by ingest.Act) (made alert.Silence, err error) {
	err = s.step(ctx, "silence alerts", kernel.Urgent, func(t *tx) error {
		if !want.Until.After(t.Now) {
			return kernel.Refuse(fault.ErrInvalid, fmt.Sprintf("a silence until %s would be over already", want.Until.UTC().Format(time.RFC3339)))
		}
		known, err := t.silencesInForce()
		if err != nil {
			return err
		}
		for _, k := range known {
			if k.Code == want.Code && k.Source == want.Source && k.Campaign == want.Campaign && k.Until.Equal(want.Until) && k.Reason == by.Reason && k.Actor == by.Actor {
				made = k
				return nil
			}
		}
		made = want
		made.Reason, made.Actor, made.CreatedAt = kernel.Cut(by.Reason, 512), kernel.Cut(by.Actor, 128), t.Now
		if by.Rehearsal {
			return kernel.ErrRehearsed
		}
		if made.ID, err = t.Insert("INSERT INTO ing_alert_silence (finding_code, provenance_code, campaign_name, until_at, reason, actor, created_at) VALUES (?,?,?,?,?,?,?)",
			kernel.OrNull(string(made.Code)), kernel.OrNull(made.Source), kernel.OrNull(made.Campaign), kernel.Micros(made.Until), made.Reason, made.Actor, kernel.Micros(made.CreatedAt)); err != nil {
			return err
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "alert.silence", Object: silenceObject(made.ID), Reason: by.Reason, Detail: map[string]any{
			"code": made.Code, "source": made.Source, "campaign": made.Campaign, "until": made.Until.UTC().Format(time.RFC3339),
		}})
	})
	return made, kernel.Performed(err)
}

// UnsilenceAlerts ends a silence. One that is over is left as it is.
func (s *Alarm) UnsilenceAlerts(ctx context.Context, id int64, by ingest.Act) (ended alert.Silence, changed bool, err error) {
	err = s.step(ctx, "unsilence alerts", kernel.Urgent, func(t *tx) error {
		changed = false
		ended, err = look.ScanSilence(t.Row("SELECT "+look.SilenceColumns+" FROM ing_alert_silence s WHERE s.id = ?"+t.Dialect().ForUpdate, id))
		if err = kernel.OrNotFound(err); err != nil {
			return fmt.Errorf("silence %d: %w", id, err)
		}
		if !ended.InForce(t.Now) {
			return nil
		}
		ended.RemovedAt, changed = t.Now, true
		if by.Rehearsal {
			return kernel.ErrRehearsed
		}
		if err := t.ExecOne("UPDATE ing_alert_silence SET removed_at = ? WHERE id = ?", kernel.Micros(t.Now), id); err != nil {
			return err
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "alert.unsilence", Object: silenceObject(id), Reason: by.Reason})
	})
	return ended, changed, kernel.Performed(err)
}

func silenceObject(id int64) string { return fmt.Sprintf("silence/%d", id) }
