// Package registry holds a store to what the registry promises: sources by date, and the dictionary of codes.
// It is a part of storetest, cut where the store is cut.
//
// It must never import another part: what two of them need stands in fixture.
package registry

import (
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// Topics are what this part of the suite tries.
func Topics(of fixture.Suite) []fixture.Topic {
	s := suite{of}
	return []fixture.Topic{
		{Name: "Sources", Run: s.sources},
		{Name: "WholeSources", Run: s.wholeSources},
		{Name: "SourceVersions", Run: s.sourceVersions},
		{Name: "SourceRemoved", Run: s.sourceRemoved},
		{Name: "SourceRaces", Run: s.sourceRaces},
		{Name: "SourceUpgrade", Run: s.sourceUpgrade},
		{Name: "ColumnsDropped", Run: s.columnsDropped},
		{Name: "Dictionary", Run: s.dictionary},
		{Name: "Outlines", Run: s.outlines},
	}
}

// Lossy are the steps of this room whose answers may get lost.
func Lossy() []fixture.Lossy {
	return fixture.LossySteps(enterWorld, lossySources(), lossyDictionary())
}

// world is a world with what only this part does in it.
type world struct{ *fixture.World }

type suite struct{ fixture.Suite }

// test runs a body in a world of its own.
func (s suite) test(t *testing.T, name string, body func(w *world)) {
	t.Helper()
	s.Test(t, name, func(w *fixture.World) { body(&world{w}) })
}

// bare runs a body in a world without tables.
func (s suite) bare(t *testing.T, name string, body func(w *world)) {
	t.Helper()
	s.Bare(t, name, func(w *fixture.World) { body(&world{w}) })
}

type answer = fixture.Answer

// lossy is a step of this room whose answer may get lost; see fixture.LossySteps.
type lossy struct {
	Step, Name string
	Prepare    func(w *world) func() (answer, error)
}

func enterWorld(w *fixture.World) *world { return &world{w} }
