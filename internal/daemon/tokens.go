package daemon

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// Tokens makes, lists and revokes access tokens of the HTTP interface.
type Tokens struct{ db *store.Store }

// TokenWish is the access token that a person wants.
type TokenWish struct {
	Name     string
	Role     access.Role
	Sources  []string // empty: every source
	Lasts    time.Duration
	Insisted bool // on a life of more than a year
}

// Create makes an access token. The token itself is returned once and kept nowhere.
func (t *Tokens) Create(ctx context.Context, want TokenWish, by ingest.Act) (text secret.Text, made access.Token, err error) {
	if err := access.CheckName(want.Name); err != nil {
		return text, made, err
	}
	if err := access.CheckLife(want.Lasts, want.Insisted); err != nil {
		return text, made, err
	}
	var random [access.SecretBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	spelled := access.Spell(random)
	made, err = t.db.CreateAccessToken(ctx, access.HashText(spelled), access.Token{Name: want.Name, Role: want.Role, Sources: want.Sources}, want.Lasts, by)
	if err != nil || by.Rehearsal {
		return text, made, err
	}
	return secret.New(spelled), made, nil
}

// List lists access tokens, newest first.
func (t *Tokens) List(ctx context.Context, f view.Filter) ([]access.Token, error) {
	return t.db.AccessTokens(ctx, f)
}

// Revoke ends an access token at once, by its number or by the name of a valid one.
func (t *Tokens) Revoke(ctx context.Context, which string, by ingest.Act) (ended access.Token, changed bool, err error) {
	id, err := strconv.ParseInt(which, 10, 64)
	if err != nil {
		if id, err = t.findByName(ctx, which); err != nil {
			return ended, false, err
		}
	}
	return t.db.RevokeAccessToken(ctx, id, by)
}

// findByName finds the newest access token with a name.
func (t *Tokens) findByName(ctx context.Context, name string) (int64, error) {
	for f := (view.Filter{Limit: 500}); ; {
		rows, err := t.db.AccessTokens(ctx, f)
		if err != nil {
			return 0, err
		}
		for _, k := range rows {
			if k.Name == name {
				return k.ID, nil
			}
			f.Before = k.ID
		}
		if len(rows) < f.Limit {
			return 0, fmt.Errorf("access token %q: %w: patra token list shows them", name, fault.ErrNotFound)
		}
	}
}

// hasAdmin reports whether a valid access token with the role admin and every source is
// known.
func (t *Tokens) hasAdmin(ctx context.Context) (bool, error) {
	now, err := t.db.Now(ctx)
	if err != nil {
		return false, err
	}
	for f := (view.Filter{Limit: 500}); ; {
		rows, err := t.db.AccessTokens(ctx, f)
		if err != nil {
			return false, err
		}
		for _, k := range rows {
			if k.Valid(now) && k.Caller().May(access.Admin) && k.Caller().SeesAll() && k.Actor != access.LinkActor {
				return true, nil
			}
			f.Before = k.ID
		}
		if len(rows) < f.Limit {
			return false, nil
		}
	}
}

// sessionKeeper logs browsers in and out for the entrance.
type sessionKeeper struct{ *store.Store }

// LinkToken makes the token behind a one-time login link. Its text is thrown away: only
// the session that is opened with it leads in.
func (k sessionKeeper) LinkToken(ctx context.Context, address string) (access.Token, error) {
	var random [access.SecretBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	hash := access.HashText(access.Spell(random))
	return k.CreateAccessToken(ctx, hash, access.Token{Name: "login-link-" + hash[:8], Role: access.Admin}, access.LinkLife,
		ingest.Act{Actor: access.LinkActor, Reason: "the one-time login link was used at " + address})
}
