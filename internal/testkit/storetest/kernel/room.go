// Package kernel holds a store to what the kernel promises: migrations that are whole, continued and never repeated.
// It is a part of storetest, cut where the store is cut.
//
// It must never import another part: what two of them need stands in fixture.
package kernel

import (
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// Topics are what this part of the suite tries.
func Topics(of fixture.Suite) []fixture.Topic {
	s := suite{of}
	return []fixture.Topic{
		{Name: "Migrations", Run: s.migrations},
	}
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

// world makes a world.
func (s suite) world(t *testing.T) *world {
	t.Helper()
	return &world{s.World(t)}
}
