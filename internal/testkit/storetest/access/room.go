// Package access holds a store to what it promises about access tokens and sessions: valid
// by its clock, ended at once, noted once.
// It is a part of storetest, cut where the store is cut.
//
// It must never import another part: what two of them need stands in fixture.
package access

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// Topics are what this part of the suite tries.
func Topics(of fixture.Suite) []fixture.Topic {
	s := suite{of}
	return []fixture.Topic{
		{Name: "AccessTokens", Run: s.tokens},
		{Name: "AccessSessions", Run: s.sessions},
		{Name: "AccessNotes", Run: s.notes},
	}
}

// Lossy are the steps of this room whose answers may get lost.
func Lossy() []fixture.Lossy { return fixture.LossySteps(enterWorld, lossyAccess()) }

// world is a world with what only this part does in it.
type world struct{ *fixture.World }

type suite struct{ fixture.Suite }

// test runs a body in a world of its own.
func (s suite) test(t *testing.T, name string, body func(w *world)) {
	t.Helper()
	s.Test(t, name, func(w *fixture.World) { body(&world{w}) })
}

type answer = fixture.Answer

// lossy is a step of this room whose answer may get lost; see fixture.LossySteps.
type lossy struct {
	Step, Name string
	Prepare    func(w *world) func() (answer, error)
}

func enterWorld(w *fixture.World) *world { return &world{w} }

// create makes a token whose text is its name.
func (w *world) create(name string, lasts time.Duration, sources ...string) access.Token {
	w.Helper()
	made, err := w.Store.CreateAccessToken(w.Ctx, access.HashText(name), access.Token{Name: name, Role: access.Operator, Sources: sources}, lasts, fixture.Tester)
	w.Must(err)
	return made
}

// open logs a browser in; its session's text is given.
func (w *world) open(k access.Token, text string, replaces int64) access.Session {
	w.Helper()
	made, err := w.Store.OpenSession(w.Ctx, access.Opening{Hash: access.HashText(text), TokenID: k.ID, Address: "192.0.2.1", Replaces: replaces})
	w.Must(err)
	return made
}

// audited counts rows of the audit log.
func (w *world) audited(action string) int64 {
	w.Helper()
	return w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = ?", action)
}
