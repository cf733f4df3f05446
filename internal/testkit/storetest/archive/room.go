// Package archive holds a store to what upkeep promises: history in files, nothing pruned too early, damage that is found.
// It is a part of storetest, cut where the store is cut.
//
// It must never import another part: what two of them need stands in fixture.
package archive

import (
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// Topics are what this part of the suite tries.
func Topics(of fixture.Suite) []fixture.Topic {
	s := suite{of}
	return []fixture.Topic{
		{Name: "EventArchives", Run: s.eventArchives},
		{Name: "PlanArchives", Run: s.planArchives},
		{Name: "Pruning", Run: s.pruning},
		{Name: "Frames", Run: s.framing},
		{Name: "Sizes", Run: s.sizes},
		{Name: "LeanAnswers", Run: s.leanAnswers},
	}
}

// Lossy are the steps of this room whose answers may get lost.
func Lossy() []fixture.Lossy {
	return fixture.LossySteps(enterWorld, lossyArchive())
}

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
