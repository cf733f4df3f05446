// Package look holds a store to what its read side promises: lists and detail views that agree with the tables.
// It is a part of storetest, cut where the store is cut.
//
// It must never import another part: what two of them need stands in fixture.
package look

import (
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// Topics are what this part of the suite tries.
func Topics(of fixture.Suite) []fixture.Topic {
	s := suite{of}
	return []fixture.Topic{
		{Name: "PlanViews", Run: s.planViews},
		{Name: "Believe09StartedOver", Run: s.startedOver},
		{Name: "CoverageViews", Run: s.coverageViews},
		{Name: "ScheduleViews", Run: s.scheduleViews},
		{Name: "ProcessViews", Run: s.processViews},
		{Name: "NewRejects", Run: s.newRejects},
		{Name: "DifferingCursors", Run: s.differingCursors},
		{Name: "AuditLog", Run: s.auditLog},
		{Name: "Views", Run: s.views},
		{Name: "Exchanges", Run: s.exchanges},
		{Name: "BlackBoxes", Run: s.blackBoxes},
		{Name: "Scans", Run: s.scans},
		{Name: "DataViews", Run: s.dataViews},
		{Name: "ChangeViews", Run: s.changeViews},
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
