package access

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// OpenSession logs a browser in: its session begins, the one it had before ends, and so do
// those of the same token that are too many. The same hash given twice is one session.
func (s *Access) OpenSession(ctx context.Context, o access.Opening) (made access.Session, err error) {
	err = s.step(ctx, "open session", kernel.Urgent, func(t *tx) error {
		err := scanInto(&made.Token, t.Row("SELECT "+look.TokenColumns+" FROM ing_access_token k WHERE k.id = ?", o.TokenID))
		if err = kernel.OrNotFound(err); err != nil {
			return err
		}
		if !made.Token.Valid(t.Now) {
			return fault.ErrNotFound
		}
		var created, seen sql.NullInt64
		known, err := kernel.Found(t.Row("SELECT id, created_at, seen_at FROM ing_access_session WHERE session_hash = ?", o.Hash).Scan(&made.ID, &created, &seen))
		if err != nil || known {
			made.Created, made.Seen = kernel.Instant(created), kernel.Instant(seen)
			return err
		}
		if err := t.makeRoom(o); err != nil {
			return err
		}
		made.Created, made.Seen = t.Now, t.Now
		if made.ID, err = t.Insert("INSERT INTO ing_access_session (session_hash, token_id, created_at, seen_at) VALUES (?,?,?,?)",
			o.Hash, o.TokenID, kernel.Micros(t.Now), kernel.Micros(t.Now)); err != nil {
			return err
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: made.Caller().Actor(), Action: "access.login", Object: sessionObject(made.ID), Detail: map[string]any{"address": o.Address}})
	})
	return made, err
}

// makeRoom ends the session that the browser had, and the ones of the token that were seen
// longest ago, so that one more is not too many.
func (t *tx) makeRoom(o access.Opening) error {
	live, err := t.IDs("SELECT id FROM ing_access_session WHERE token_id = ? AND ended_at IS NULL ORDER BY seen_at DESC, id DESC", o.TokenID)
	if err != nil {
		return err
	}
	var over []int64
	if len(live) >= access.MostSessions {
		over = live[access.MostSessions-1:]
	}
	if o.Replaces != 0 {
		over = append(over, o.Replaces)
	}
	return t.ExecIn("UPDATE ing_access_session SET ended_at = COALESCE(ended_at, ?) WHERE id IN ", over, kernel.Micros(t.Now))
}

// EndSession logs a browser out. A session that is over is left as it is.
func (s *Access) EndSession(ctx context.Context, id int64, by string) error {
	return s.step(ctx, "end session", kernel.Urgent, func(t *tx) error {
		n, err := t.Affected("UPDATE ing_access_session SET ended_at = ? WHERE id = ? AND ended_at IS NULL", kernel.Micros(t.Now), id)
		if err != nil || n == 0 {
			return err
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by, Action: "access.logout", Object: sessionObject(id)})
	})
}

// NoteAccessUses writes when access tokens and sessions were last used: once in a minute
// at most, so that reading costs no writes.
func (s *Access) NoteAccessUses(ctx context.Context, tokens, sessions []int64) error {
	return s.step(ctx, "note uses of access", kernel.Bulk, func(t *tx) error {
		now, before := kernel.Micros(t.Now), kernel.Micros(t.Now.Add(-access.UseGrain))
		if err := t.ExecIn("UPDATE ing_access_token SET used_at = ? WHERE (used_at IS NULL OR used_at <= ?) AND id IN ", tokens, now, before); err != nil {
			return err
		}
		return t.ExecIn("UPDATE ing_access_session SET seen_at = ? WHERE ended_at IS NULL AND seen_at <= ? AND id IN ", sessions, now, before)
	})
}

// NoteRefusals writes who was refused into the audit log, a row for each. A row that stands
// there already is not written again.
func (s *Access) NoteRefusals(ctx context.Context, refused []access.Refusal) error {
	return s.step(ctx, "note refusals", kernel.Bulk, func(t *tx) error {
		var newest sql.NullInt64
		if err := t.Row("SELECT MAX(id) FROM ing_audit_log").Scan(&newest); err != nil {
			return err
		}
		for _, r := range refused {
			var one int
			noted, err := kernel.Found(t.Row("SELECT 1 FROM ing_audit_log WHERE id > ? AND action = ? AND at = ? AND actor = ? AND object = ?",
				newest.Int64-lookBack, refusedAction, kernel.Micros(r.At), kernel.Cut(r.Actor, 128), kernel.Cut(r.Route, 256)).Scan(&one))
			if err != nil {
				return err
			}
			if noted {
				continue
			}
			if err := t.Audit(kernel.AuditEntry{At: r.At, Actor: r.Actor, Action: refusedAction, Object: r.Route, Reason: r.Why, Detail: map[string]any{
				"address": r.Address, "status": r.Status, "count": r.Count,
			}}); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	refusedAction = "access.refused"
	lookBack      = 1000 // rows of the audit log among which an own one is looked for
)

// PruneAccess removes access tokens that ended before an instant and sessions that began
// before it, some at a time. The audit log keeps what they did.
func (s *Access) PruneAccess(ctx context.Context, before time.Time, limit int) error {
	return s.step(ctx, "prune access", kernel.Bulk, func(t *tx) error {
		at := kernel.Micros(before)
		sessions, err := t.IDs("SELECT id FROM ing_access_session WHERE created_at < ? ORDER BY created_at LIMIT ?", at, limit)
		if err != nil {
			return err
		}
		if err := t.ExecIn("DELETE FROM ing_access_session WHERE id IN ", sessions); err != nil {
			return err
		}
		tokens, err := t.IDs(`SELECT k.id FROM ing_access_token k WHERE (k.expires_at < ? OR k.revoked_at < ?)
  AND NOT EXISTS (SELECT 1 FROM ing_access_session s WHERE s.token_id = k.id) ORDER BY k.id LIMIT ?`, at, at, limit)
		if err != nil {
			return err
		}
		return t.ExecIn("DELETE FROM ing_access_token WHERE id IN ", tokens)
	})
}

func sessionObject(id int64) string { return fmt.Sprintf("session/%d", id) }

// NoteReading writes a reading into the audit log. Its reason names the request, which tells
// whether its row stands there already.
func (s *Access) NoteReading(ctx context.Context, r access.Reading, by ingest.Act) error {
	return s.step(ctx, "note reading", kernel.Bulk, func(t *tx) error {
		var newest sql.NullInt64
		if err := t.Row("SELECT MAX(id) FROM ing_audit_log").Scan(&newest); err != nil {
			return err
		}
		var one int
		noted, err := kernel.Found(t.Row("SELECT 1 FROM ing_audit_log WHERE id > ? AND action = ? AND actor = ? AND object = ? AND reason = ?",
			newest.Int64-lookBack, string(r.Kind), kernel.Cut(by.Actor, 128), kernel.Cut(r.Object, 256), kernel.Cut(by.Reason, 512)).Scan(&one))
		if err != nil || noted {
			return err
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: string(r.Kind), Object: r.Object, Reason: by.Reason, Detail: r.Detail})
	})
}
