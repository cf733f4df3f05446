package look

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// TokenColumns is what is read of an access token, for ScanToken.
const TokenColumns = "k.id, k.token_name, k.role_name, k.sources_json, k.actor, k.created_at, k.expires_at, k.used_at, k.revoked_at"

// ScanToken reads a row of TokenColumns, and what stands behind them.
func ScanToken(row kernel.Scanner, more ...any) (k access.Token, err error) {
	var sources string
	var created, expires, used, revoked sql.NullInt64
	if err := row.Scan(append([]any{&k.ID, &k.Name, &k.Role, &sources, &k.Actor, &created, &expires, &used, &revoked}, more...)...); err != nil {
		return k, err
	}
	k.Created, k.Expires, k.LastUsed, k.Revoked = kernel.Instant(created), kernel.Instant(expires), kernel.Instant(used), kernel.Instant(revoked)
	if err := json.Unmarshal([]byte(sources), &k.Sources); err != nil {
		return access.Token{}, fmt.Errorf("access token %d: %w", k.ID, err)
	}
	return k, nil
}

// AccessTokens lists access tokens, newest first, also those that are not valid any more.
func (s *Look) AccessTokens(ctx context.Context, f view.Filter) (out []access.Token, err error) {
	err = s.listRows(ctx, "list access tokens", "SELECT "+TokenColumns+" FROM "+page, "ing_access_token", "k", f, nil, func(rows *sql.Rows) error {
		k, err := ScanToken(rows)
		out = append(out, k)
		return err
	})
	return out, err
}

// UsableToken reads the access token with a hash, if it is valid by the store's clock. One
// that was never there, has expired or was revoked is not found: who brings it is not told
// which.
func (s *Look) UsableToken(ctx context.Context, hash string) (access.Token, error) {
	var clock sql.NullInt64
	k, err := ScanToken(s.db.QueryRow(ctx, "SELECT "+TokenColumns+", "+s.clockColumn()+" FROM ing_access_token k WHERE k.token_hash = ?", hash), &clock)
	if err = kernel.OrNotFound(err); err != nil {
		return access.Token{}, kernel.Wrap("read access token", s.db.Translate(err))
	}
	if !k.Valid(s.clockAt(clock)) {
		return access.Token{}, kernel.Wrap("read access token", fault.ErrNotFound)
	}
	return k, nil
}

// UsableSession reads the session with a hash and its token, if both are valid by the
// store's clock.
func (s *Look) UsableSession(ctx context.Context, hash string) (out access.Session, err error) {
	var clock, created, seen, ended sql.NullInt64
	out.Token, err = ScanToken(s.db.QueryRow(ctx, "SELECT "+TokenColumns+", s.id, s.created_at, s.seen_at, s.ended_at, "+s.clockColumn()+
		" FROM ing_access_session s JOIN ing_access_token k ON k.id = s.token_id WHERE s.session_hash = ?", hash), &out.ID, &created, &seen, &ended, &clock)
	if err = kernel.OrNotFound(err); err != nil {
		return access.Session{}, kernel.Wrap("read session", s.db.Translate(err))
	}
	out.Created, out.Seen = kernel.Instant(created), kernel.Instant(seen)
	if ended.Valid || !out.Valid(s.clockAt(clock)) {
		return access.Session{}, kernel.Wrap("read session", fault.ErrNotFound)
	}
	return out, nil
}

// clockColumn returns the store's clock as a column; clockAt reads what it gave.
func (s *Look) clockColumn() string { return cmp.Or(s.db.Dialect.Clock, "NULL") }

func (s *Look) clockAt(column sql.NullInt64) time.Time {
	if at, ok := s.db.OwnClock(); ok {
		return at
	}
	return kernel.Instant(column)
}
