package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// Lengths of what a consent is about, as in the table.
const (
	longestReference = 1024
	longestHost      = 300
)

// Consents lists what was agreed to in this database.
func (s *Store) Consents(ctx context.Context) (out []trust.Consent, err error) {
	rows, err := s.query(ctx, "SELECT secret_ref, host, actor, reason, agreed_at FROM ing_trust ORDER BY host, secret_ref")
	if err != nil {
		return nil, wrap("list consents", s.translate(err))
	}
	return out, wrap("list consents", each(rows, func() error {
		var c trust.Consent
		var ref string
		var reason sql.NullString
		var at sql.NullInt64
		if err := rows.Scan(&ref, &c.Host, &c.Actor, &reason, &at); err != nil {
			return err
		}
		c.Reason, c.At = reason.String, instant(at)
		out = append(out, c)
		return out[len(out)-1].Ref.UnmarshalText([]byte(ref))
	}))
}

// AgreeTo writes consents and the act that gave them. What was agreed to before
// stays as it is, with its actor.
func (s *Store) AgreeTo(ctx context.Context, uses []trust.Use, by ingest.Act) error {
	return performed(s.step(ctx, "agree", urgent, func(t *tx) error {
		var added []trust.Use
		for _, u := range uses {
			if len(u.Ref.String()) > longestReference || len(u.Host) > longestHost {
				return fmt.Errorf("%w: a reference has at most %d characters and a host %d", fault.ErrInvalid, longestReference, longestHost)
			}
			key := trustKey(u)
			known, err := found(t.row("SELECT trust_key FROM ing_trust WHERE trust_key = ?", key).Scan(&key))
			if err != nil {
				return err
			}
			if known {
				continue
			}
			added = append(added, u)
			if _, err := t.exec("INSERT INTO ing_trust (trust_key, secret_ref, host, actor, reason, agreed_at) VALUES (?,?,?,?,?,?)",
				key, u.Ref.String(), u.Host, cut(by.Actor, 128), orNull(cut(by.Reason, 512)), micros(t.now)); err != nil {
				return err
			}
		}
		return t.auditTrust(trust.Agreed, added, by)
	}))
}

// Withdraw takes consents back. What was not agreed to leaves no trace.
func (s *Store) Withdraw(ctx context.Context, uses []trust.Use, by ingest.Act) error {
	return performed(s.step(ctx, "withdraw", urgent, func(t *tx) error {
		var taken []trust.Use
		for _, u := range uses {
			n, err := t.affected("DELETE FROM ing_trust WHERE trust_key = ?", trustKey(u))
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
func (s *Store) NoteTrust(ctx context.Context, action string, uses []trust.Use, by ingest.Act) error {
	return performed(s.step(ctx, "note consent", urgent, func(t *tx) error {
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

// lastTrustAct is what the log says of a use last; empty if nothing.
func (t *tx) lastTrustAct(u trust.Use) (action string, err error) {
	rows, err := t.query("SELECT action, detail FROM ing_audit_log WHERE object = ? ORDER BY id", trustObject(u))
	if err != nil {
		return "", err
	}
	return action, each(rows, func() error {
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

func trustObject(u trust.Use) string { return cut("trust/"+u.Host, 256) }

func trustKey(u trust.Use) string { return fingerprint.Key(u.Ref.String(), u.Host) }

func (t *tx) auditTrust(action string, uses []trust.Use, by ingest.Act) error {
	if by.Rehearsal {
		return errRehearsed
	}
	for _, u := range uses {
		err := t.audit(auditEntry{at: t.now, actor: by.Actor, action: action, object: trustObject(u), reason: by.Reason, detail: map[string]any{"reference": u.Ref.String(), "host": u.Host}})
		if err != nil {
			return err
		}
	}
	return nil
}
