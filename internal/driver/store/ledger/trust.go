package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Lengths of what a consent is about, as in the table.
const (
	longestReference = 1024
	longestHost      = 300
)

// Consents lists what was agreed to in this database.
func (s *Ledger) Consents(ctx context.Context) (out []trust.Consent, err error) {
	rows, err := s.db.Query(ctx, "SELECT secret_ref, host, actor, reason, agreed_at FROM ing_trust ORDER BY host, secret_ref")
	if err != nil {
		return nil, kernel.Wrap("list consents", s.db.Translate(err))
	}
	return out, kernel.Wrap("list consents", kernel.Each(rows, func() error {
		var c trust.Consent
		var ref string
		var reason sql.NullString
		var at sql.NullInt64
		if err := rows.Scan(&ref, &c.Host, &c.Actor, &reason, &at); err != nil {
			return err
		}
		c.Reason, c.At = reason.String, kernel.Instant(at)
		out = append(out, c)
		return out[len(out)-1].Ref.UnmarshalText([]byte(ref))
	}))
}

// AgreeTo writes consents and the act that gave them. What was agreed to before
// stays as it is, with its actor.
func (s *Ledger) AgreeTo(ctx context.Context, uses []trust.Use, by ingest.Act) error {
	return kernel.Performed(s.step(ctx, "agree", kernel.Urgent, func(t *tx) error {
		var added []trust.Use
		for _, u := range uses {
			if len(u.Ref.String()) > longestReference || len(u.Host) > longestHost {
				return fmt.Errorf("%w: a reference has at most %d characters and a host %d", fault.ErrInvalid, longestReference, longestHost)
			}
			key := trustKey(u)
			known, err := kernel.Found(t.Row("SELECT trust_key FROM ing_trust WHERE trust_key = ?", key).Scan(&key))
			if err != nil {
				return err
			}
			if known {
				continue
			}
			added = append(added, u)
			if _, err := t.Exec("INSERT INTO ing_trust (trust_key, secret_ref, host, actor, reason, agreed_at) VALUES (?,?,?,?,?,?)",
				key, u.Ref.String(), u.Host, kernel.Cut(by.Actor, 128), kernel.OrNull(kernel.Cut(by.Reason, 512)), kernel.Micros(t.Now)); err != nil {
				return err
			}
		}
		return t.auditTrust(trust.Agreed, added, by)
	}))
}

// Withdraw takes consents back. What was not agreed to leaves no trace.
func (s *Ledger) Withdraw(ctx context.Context, uses []trust.Use, by ingest.Act) error {
	return kernel.Performed(s.step(ctx, "withdraw", kernel.Urgent, func(t *tx) error {
		var taken []trust.Use
		for _, u := range uses {
			n, err := t.Affected("DELETE FROM ing_trust WHERE trust_key = ?", trustKey(u))
			if err != nil {
				return err
			}
			if n > 0 {
				taken = append(taken, u)
			}
		}
		return t.auditTrust(trust.Withdrawn, taken, by)
	}))
}

// NoteTrust writes only the act: the consent itself is kept elsewhere. What the log
// says of a use already is not written again, so the step can be repeated.
func (s *Ledger) NoteTrust(ctx context.Context, action string, uses []trust.Use, by ingest.Act) error {
	return kernel.Performed(s.step(ctx, "note consent", kernel.Urgent, func(t *tx) error {
		var news []trust.Use
		for _, u := range uses {
			last, err := t.lastTrustAct(u)
			if err != nil {
				return err
			}
			if last != action {
				news = append(news, u)
			}
		}
		return t.auditTrust(action, news, by)
	}))
}

// lastTrustAct returns what the log says of a use last; empty if nothing.
func (t *tx) lastTrustAct(u trust.Use) (action string, err error) {
	rows, err := t.Query("SELECT action, detail FROM ing_audit_log WHERE object = ? ORDER BY id", trustObject(u))
	if err != nil {
		return "", err
	}
	return action, kernel.Each(rows, func() error {
		var act, detail string
		if err := rows.Scan(&act, &detail); err != nil {
			return err
		}
		var of struct {
			Reference string `json:"reference"`
		}
		if json.Unmarshal([]byte(detail), &of) == nil && of.Reference == u.Ref.String() {
			action = act
		}
		return nil
	})
}

func trustObject(u trust.Use) string { return kernel.Cut("trust/"+u.Host, 256) }

func trustKey(u trust.Use) string { return fingerprint.Key(u.Ref.String(), u.Host) }

func (t *tx) auditTrust(action string, uses []trust.Use, by ingest.Act) error {
	if by.Rehearsal {
		return kernel.ErrRehearsed
	}
	for _, u := range uses {
		err := t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: action, Object: trustObject(u), Reason: by.Reason, Detail: map[string]any{"reference": u.Ref.String(), "host": u.Host}})
		if err != nil {
			return err
		}
	}
	return nil
}
