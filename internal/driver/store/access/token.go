package access

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// CreateAccessToken keeps a new access token by its hash. It lasts from now on, by the
// store's clock. A name belongs to one valid token at a time, so that people can revoke
// by name; the same hash given twice is one token.
func (s *Access) CreateAccessToken(ctx context.Context, hash string, want access.Token, lasts time.Duration, by ingest.Act) (made access.Token, err error) {
	err = s.step(ctx, "create access token", kernel.Urgent, func(t *tx) error {
		known, err := kernel.Found(scanInto(&made, t.Row("SELECT "+look.TokenColumns+" FROM ing_access_token k WHERE k.token_hash = ?", hash)))
		if err != nil || known {
			return err
		}
		if err := t.checkRoom(want.Name); err != nil {
			return err
		}
		made = access.Token{Name: want.Name, Role: want.Role, Sources: append([]string{}, access.SortSources(want.Sources)...), Created: t.Now, Expires: t.Now.Add(lasts), Actor: kernel.Cut(by.Actor, 128)}
		if by.Rehearsal {
			return kernel.ErrRehearsed
		}
		sources, err := json.Marshal(made.Sources)
		if err != nil {
			return err
		}
		if made.ID, err = t.Insert("INSERT INTO ing_access_token (token_hash, token_name, role_name, sources_json, actor, created_at, expires_at) VALUES (?,?,?,?,?,?,?)",
			hash, made.Name, string(made.Role), string(sources), made.Actor, kernel.Micros(made.Created), kernel.Micros(made.Expires)); err != nil {
			return err
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "token.create", Object: tokenObject(made), Reason: by.Reason, Detail: map[string]any{
			"role": made.Role, "sources": made.Sources, "expires": made.Expires.Format(time.RFC3339),
		}})
	})
	return made, kernel.Performed(err)
}

// checkRoom refuses a name that a valid token has, and more tokens than anybody can look
// after.
func (t *tx) checkRoom(name string) error {
	var valid int
	if err := t.Row("SELECT COUNT(*) FROM ing_access_token WHERE expires_at > ? AND revoked_at IS NULL", kernel.Micros(t.Now)).Scan(&valid); err != nil {
		return err
	}
	if valid >= access.MostTokens {
		return kernel.Refuse(fault.ErrConflict, fmt.Sprintf("there are %d valid access tokens already: revoke some (patra token list)", valid))
	}
	var id int64
	taken, err := kernel.Found(t.Row("SELECT id FROM ing_access_token WHERE token_name = ? AND expires_at > ? AND revoked_at IS NULL ORDER BY id LIMIT 1", name, kernel.Micros(t.Now)).Scan(&id))
	if err == nil && taken {
		err = kernel.Refuse(fault.ErrConflict, fmt.Sprintf("access token %d has the name %s already: take another name, or revoke that one first (patra token revoke %s)", id, name, name))
	}
	return err
}

// RevokeAccessToken ends an access token at once, and with it all of its sessions. One that
// is not valid any more is left as it is.
func (s *Access) RevokeAccessToken(ctx context.Context, id int64, by ingest.Act) (ended access.Token, changed bool, err error) {
	err = s.step(ctx, "revoke access token", kernel.Urgent, func(t *tx) error {
		changed = false
		err := scanInto(&ended, t.Row("SELECT "+look.TokenColumns+" FROM ing_access_token k WHERE k.id = ?"+t.Dialect().ForUpdate, id))
		if err = kernel.OrNotFound(err); err != nil {
			return fmt.Errorf("access token %d: %w", id, err)
		}
		if !ended.Valid(t.Now) {
			return nil
		}
		ended.Revoked, changed = t.Now, true
		if by.Rehearsal {
			return kernel.ErrRehearsed
		}
		if err := t.ExecOne("UPDATE ing_access_token SET revoked_at = ? WHERE id = ?", kernel.Micros(t.Now), id); err != nil {
			return err
		}
		if _, err := t.Exec("UPDATE ing_access_session SET ended_at = ? WHERE token_id = ? AND ended_at IS NULL", kernel.Micros(t.Now), id); err != nil {
			return err
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "token.revoke", Object: tokenObject(ended), Reason: by.Reason})
	})
	return ended, changed, kernel.Performed(err)
}

func scanInto(k *access.Token, row kernel.Scanner) (err error) {
	*k, err = look.ScanToken(row)
	return err
}

func tokenObject(k access.Token) string { return fmt.Sprintf("token/%d %s", k.ID, k.Name) }
