package access

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) tokens(t *testing.T) {
	s.test(t, "a token is found by its hash until it expires, by the store's clock", func(w *world) {
		made := w.create("ci", time.Hour, "pubmed", "crossref", "pubmed")
		if !reflect.DeepEqual(made.Sources, []string{"crossref", "pubmed"}) || !made.Expires.Equal(fixture.Noon.Add(time.Hour)) {
			w.Errorf("%+v", made)
		}
		found, err := w.Store.UsableToken(w.Ctx, access.HashText("ci"))
		w.Must(err)
		if !reflect.DeepEqual(found, made) {
			w.Errorf("%+v, made as %+v", found, made)
		}
		_, err = w.Store.UsableToken(w.Ctx, access.HashText("other"))
		w.Refuses(err, fault.ErrNotFound, "a token that never was")
		w.Clock.Advance(time.Hour)
		_, err = w.Store.UsableToken(w.Ctx, access.HashText("ci"))
		w.Refuses(err, fault.ErrNotFound, "a token that has expired")
		if n := w.audited("token.create"); n != 1 {
			w.Errorf("%d rows of the audit log", n)
		}
	})
	s.test(t, "a name belongs to one valid token", func(w *world) {
		first := w.create("ci", time.Hour)
		w.Unchanged("a second one", func() {
			_, err := w.Store.CreateAccessToken(w.Ctx, access.HashText("x"), access.Token{Name: "ci", Role: access.Viewer}, time.Hour, fixture.Tester)
			w.Refuses(err, fault.ErrConflict, "a name that is taken")
			_, err = w.Store.CreateAccessToken(w.Ctx, access.HashText("y"), access.Token{Name: "cd", Role: access.Viewer}, time.Hour, ingest.Act{Actor: "me", Rehearsal: true})
			w.Must(err)
		})
		_, _, err := w.Store.RevokeAccessToken(w.Ctx, first.ID, fixture.Tester)
		w.Must(err)
		_, err = w.Store.CreateAccessToken(w.Ctx, access.HashText("x"), access.Token{Name: "ci", Role: access.Viewer}, time.Hour, fixture.Tester)
		w.Must(err)
	})
	s.test(t, "a token that is revoked ends at once, with its sessions", func(w *world) {
		k := w.create("ci", time.Hour)
		w.open(k, "browser", 0)
		w.Unchanged("a rehearsal", func() {
			_, changed, err := w.Store.RevokeAccessToken(w.Ctx, k.ID, ingest.Act{Actor: "me", Rehearsal: true})
			w.Must(err)
			if !changed {
				w.Error("it would change nothing")
			}
		})
		ended, changed, err := w.Store.RevokeAccessToken(w.Ctx, k.ID, fixture.Tester)
		w.Must(err)
		_, again, err := w.Store.RevokeAccessToken(w.Ctx, k.ID, fixture.Tester)
		w.Must(err)
		if !changed || again || !ended.Revoked.Equal(fixture.Noon) {
			w.Errorf("%v %v %+v", changed, again, ended)
		}
		_, err = w.Store.UsableToken(w.Ctx, access.HashText("ci"))
		w.Refuses(err, fault.ErrNotFound, "a token that was revoked")
		_, err = w.Store.UsableSession(w.Ctx, access.HashText("browser"))
		w.Refuses(err, fault.ErrNotFound, "the session of it")
		_, err = w.Store.OpenSession(w.Ctx, access.Opening{Hash: access.HashText("another"), TokenID: k.ID})
		w.Refuses(err, fault.ErrNotFound, "another session of it")
		_, _, err = w.Store.RevokeAccessToken(w.Ctx, 99, fixture.Tester)
		w.Refuses(err, fault.ErrNotFound, "a token that never was")
		if n := w.audited("token.revoke"); n != 1 {
			w.Errorf("%d rows of the audit log", n)
		}
	})
	s.test(t, "no table holds what is brought", func(w *world) {
		w.create("patra_secret", time.Hour)
		for _, column := range []string{"token_hash", "sources_json", "actor"} {
			if n := w.Number("SELECT COUNT(*) FROM ing_access_token WHERE " + column + " LIKE '%patra!_secret%' ESCAPE '!'"); n != 0 {
				w.Errorf("%s holds it", column)
			}
		}
	})
}

func (s suite) sessions(t *testing.T) {
	s.test(t, "a session ends when it is idle, old or logged out", func(w *world) {
		k := w.create("ci", fixture.Day)
		made := w.open(k, "browser", 0)
		usable := func() bool {
			found, err := w.Store.UsableSession(w.Ctx, access.HashText("browser"))
			return err == nil && found.ID == made.ID && found.Token.ID == k.ID
		}
		if !usable() {
			w.Fatal("a new session is not usable")
		}
		for range 24 {
			w.Clock.Advance(29 * time.Minute)
			if !usable() {
				w.Fatal("it ended while it was used")
			}
			w.Must(w.Store.NoteAccessUses(w.Ctx, nil, []int64{made.ID}))
		}
		w.Clock.Advance(24*time.Minute + time.Second) // 12 hours since it began
		if usable() {
			w.Error("it is usable after 12 hours")
		}
		w.open(k, "browser2", 0)
		w.Clock.Advance(access.SessionIdle)
		_, err := w.Store.UsableSession(w.Ctx, access.HashText("browser2"))
		w.Refuses(err, fault.ErrNotFound, "an idle session")
		made = w.open(k, "browser3", 0)
		w.Must(w.Store.EndSession(w.Ctx, made.ID, "me"))
		w.Must(w.Store.EndSession(w.Ctx, made.ID, "me"))
		_, err = w.Store.UsableSession(w.Ctx, access.HashText("browser3"))
		w.Refuses(err, fault.ErrNotFound, "a session that was ended")
		if in, out := w.audited("access.login"), w.audited("access.logout"); in != 3 || out != 1 {
			w.Errorf("%d logins and %d logouts in the audit log", in, out)
		}
	})
	s.test(t, "a new session replaces the one the browser had, and too many end the oldest", func(w *world) {
		k := w.create("ci", fixture.Day)
		first := w.open(k, "s", 0)
		w.open(k, "t", first.ID)
		_, err := w.Store.UsableSession(w.Ctx, access.HashText("s"))
		w.Refuses(err, fault.ErrNotFound, "the session that was replaced")
		for i := range access.MostSessions {
			w.Clock.Advance(time.Second)
			w.open(k, fmt.Sprint("s", i), 0)
		}
		_, err = w.Store.UsableSession(w.Ctx, access.HashText("t"))
		w.Refuses(err, fault.ErrNotFound, "the session seen longest ago")
		_, err = w.Store.UsableSession(w.Ctx, access.HashText("s0"))
		w.Must(err)
	})
}

func (s suite) notes(t *testing.T) {
	s.test(t, "the last use is written once a minute at most", func(w *world) {
		k := w.create("ci", time.Hour)
		last := func() time.Time {
			rows, err := w.Store.AccessTokens(w.Ctx, view.Filter{Limit: 10})
			w.Must(err)
			return rows[0].LastUsed
		}
		w.Must(w.Store.NoteAccessUses(w.Ctx, []int64{k.ID}, nil))
		w.Clock.Advance(59 * time.Second)
		w.Must(w.Store.NoteAccessUses(w.Ctx, []int64{k.ID}, nil))
		if !last().Equal(fixture.Noon) {
			w.Errorf("last used %s", last())
		}
		w.Clock.Advance(time.Second)
		w.Must(w.Store.NoteAccessUses(w.Ctx, []int64{k.ID}, nil))
		if !last().Equal(fixture.Noon.Add(time.Minute)) {
			w.Errorf("last used %s", last())
		}
	})
	s.test(t, "refusals are rows of the audit log, each once", func(w *world) {
		refused := []access.Refusal{{At: fixture.Noon, Actor: "address:192.0.2.1", Route: "GET /v1", Why: "no", Status: 401, Count: 7}, {At: fixture.Noon, Actor: "api:ci#1", Route: "POST /v1", Why: "no", Status: 403, Count: 1}}
		w.Must(w.Store.NoteRefusals(w.Ctx, refused))
		w.Must(w.Store.NoteRefusals(w.Ctx, refused))
		if n := w.audited("access.refused"); n != 2 {
			w.Errorf("%d rows", n)
		}
	})
	s.test(t, "a reading is a row of the audit log, once for each request", func(w *world) {
		note := func(kind access.ReadingKind, object, request string) {
			w.Must(w.Store.NoteReading(w.Ctx, access.Reading{Kind: kind, Object: object, Detail: map[string]any{"upstream": true}}, ingest.Act{Actor: "api:ci#1", Reason: request}))
		}
		note(access.ReadBody, "batch/7", "request r1")
		w.Unchanged("noting the same reading again", func() { note(access.ReadBody, "batch/7", "request r1") })
		note(access.ReadBody, "batch/7", "request r2")
		note(access.ReadBody, "batch/8", "request r2")
		note(access.ReplayBatches, "batch/8", "request r2")
		if bodies, replays := w.audited("body.read"), w.audited("batch.replay"); bodies != 3 || replays != 1 {
			w.Errorf("%d rows of bodies, %d of replays", bodies, replays)
		}
	})
	s.test(t, "what is over is removed, and nothing else", func(w *world) {
		over, stays := w.create("over", time.Hour), w.create("stays", 3*fixture.Day)
		w.open(over, "a", 0)
		w.Clock.Advance(fixture.Day)
		w.open(stays, "b", 0)
		w.Must(w.Store.PruneAccess(w.Ctx, fixture.Noon, 10))
		if n := w.Number("SELECT COUNT(*) FROM ing_access_token") + w.Number("SELECT COUNT(*) FROM ing_access_session"); n != 4 {
			w.Errorf("%d rows", n)
		}
		w.Must(w.Store.PruneAccess(w.Ctx, fixture.Noon.Add(2*time.Hour), 10))
		if tokens, sessions := w.Number("SELECT COUNT(*) FROM ing_access_token"), w.Number("SELECT COUNT(*) FROM ing_access_session"); tokens != 1 || sessions != 1 {
			w.Errorf("%d tokens and %d sessions are left", tokens, sessions)
		}
	})
}

func lossyAccess() []lossy {
	return []lossy{
		{"create access token", "create access token", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				return first(w.Store.CreateAccessToken(w.Ctx, access.HashText("ci"), access.Token{Name: "ci", Role: access.Admin}, time.Hour, fixture.Tester))
			}
		}},
		{"revoke access token", "revoke access token", func(w *world) func() (answer, error) {
			k := w.create("ci", time.Hour)
			return func() (answer, error) {
				ended, _, err := w.Store.RevokeAccessToken(w.Ctx, k.ID, fixture.Tester)
				return ended, err
			}
		}},
		{"open session", "open session", func(w *world) func() (answer, error) {
			k := w.create("ci", time.Hour)
			return func() (answer, error) {
				return first(w.Store.OpenSession(w.Ctx, access.Opening{Hash: access.HashText("b"), TokenID: k.ID}))
			}
		}},
		{"end session", "end session", func(w *world) func() (answer, error) {
			made := w.open(w.create("ci", time.Hour), "b", 0)
			return func() (answer, error) { return nil, w.Store.EndSession(w.Ctx, made.ID, "me") }
		}},
		{"note uses of access", "note uses of access", func(w *world) func() (answer, error) {
			k := w.create("ci", time.Hour)
			return func() (answer, error) { return nil, w.Store.NoteAccessUses(w.Ctx, []int64{k.ID}, nil) }
		}},
		{"note refusals", "note refusals", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				return nil, w.Store.NoteRefusals(w.Ctx, []access.Refusal{{At: fixture.Noon, Actor: "a", Route: "GET /", Why: "no", Status: 401, Count: 1}})
			}
		}},
		{"note reading", "note reading", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				return nil, w.Store.NoteReading(w.Ctx, access.Reading{Kind: access.ReadBody, Object: "batch/7"}, fixture.Tester)
			}
		}},
		{"prune access", "prune access", func(w *world) func() (answer, error) {
			w.create("ci", time.Hour)
			w.Clock.Advance(fixture.Day)
			return func() (answer, error) { return nil, w.Store.PruneAccess(w.Ctx, fixture.Noon.Add(fixture.Day), 10) }
		}},
	}
}

// first returns the one answer of a call and its error.
func first[T any](value T, err error) (answer, error) { return value, err }
