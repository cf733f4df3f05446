// Package ledger holds a store to what the ledger promises: plans, queue, leases, runs, pages, cursors, campaigns and all that limits work.
// It is a part of storetest, cut where the store is cut.
//
// It must never import another part: what two of them need stands in fixture.
package ledger

import (
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// Topics are what this part of the suite tries.
func Topics(of fixture.Suite) []fixture.Topic {
	s := suite{of}
	return []fixture.Topic{
		{Name: "Triggers", Run: s.triggers},
		{Name: "Plans", Run: s.plans},
		{Name: "Slices", Run: s.slices},
		{Name: "PlanRaces", Run: s.planRaces},
		{Name: "PartialPlans", Run: s.partialPlans},
		{Name: "PartialPlanRaces", Run: s.partialPlanRaces},
		{Name: "Reslices", Run: s.reslices},
		{Name: "ResliceRaces", Run: s.resliceRaces},
		{Name: "Sectors", Run: s.sectors},
		{Name: "SectorLags", Run: s.sectorLags},
		{Name: "SectorRefusals", Run: s.sectorRefusals},
		{Name: "Stock", Run: s.stock},
		{Name: "GivenUp", Run: s.givenUp},
		{Name: "WindowHistory", Run: s.windowHistory},
		{Name: "CountChecks", Run: s.countChecks},
		{Name: "QueueLengths", Run: s.queueLengths},
		{Name: "LateArrivals", Run: s.lateArrivals},
		{Name: "Sums", Run: s.sums},
		{Name: "Timeline", Run: s.timeline},
		{Name: "Answers", Run: s.answers},
		{Name: "Candidates", Run: s.candidates},
		{Name: "ChangedRecords", Run: s.changedRecords},
		{Name: "Signals", Run: s.signals},
		{Name: "Refreshed", Run: s.refreshed},
		{Name: "Believe06", Run: s.believe06},
		{Name: "Believe07", Run: s.believe07},
		{Name: "Quarantine", Run: s.quarantine},
		{Name: "Pace", Run: s.pace},
		{Name: "PlanCancel", Run: s.planCancel},
		{Name: "PlanCancelRaces", Run: s.planCancelRaces},
		{Name: "LivePlans", Run: s.livePlans},
		{Name: "Schedules", Run: s.schedules},
		{Name: "NamedLeases", Run: s.namedLeases},
		{Name: "Queue", Run: s.queue},
		{Name: "ClaimRace", Run: s.claimRace},
		{Name: "Rotation", Run: s.rotation},
		{Name: "Dispatchers", Run: s.dispatchers},
		{Name: "Pauses", Run: s.pauses},
		{Name: "Consents", Run: s.consents},
		{Name: "Campaigns", Run: s.campaigns},
		{Name: "CampaignWaive", Run: s.campaignWaive},
		{Name: "CampaignArchived", Run: s.campaignArchived},
		{Name: "Breakers", Run: s.breakers},
		{Name: "Holdups", Run: s.holdups},
		{Name: "RateReports", Run: s.rateReports},
		{Name: "Alarms", Run: s.alarms},
		{Name: "Trust13Mended", Run: s.trust13Mended},
		{Name: "Trust13Superseded", Run: s.trust13Superseded},
		{Name: "Trust15Known", Run: s.trust15Known},
		{Name: "Health", Run: s.health},
		{Name: "Quotas", Run: s.quotas},
		{Name: "RequestLimits", Run: s.requestLimits},
		{Name: "Releases", Run: s.releases},
		{Name: "QuotaRaces", Run: s.quotaRaces},
		{Name: "Reservations", Run: s.reservations},
		{Name: "TaskCancel", Run: s.taskCancel},
		{Name: "TaskRetry", Run: s.taskRetry},
		{Name: "TaskRaces", Run: s.taskRaces},
		{Name: "Leases", Run: s.leases},
		{Name: "StaleWrites", Run: s.staleWrites},
		{Name: "Runs", Run: s.runs},
		{Name: "Batches", Run: s.batches},
		{Name: "RecordHistory", Run: s.recordHistory},
		{Name: "Fills", Run: s.fills},
		{Name: "Rejects", Run: s.rejects},
		{Name: "BatchRaces", Run: s.batchRaces},
		{Name: "BatchesExpectedNew", Run: s.expectedNew},
		{Name: "ForeignText", Run: s.foreignText},
		{Name: "Instants", Run: s.instants},
		{Name: "Cursor", Run: s.cursor},
		{Name: "CursorOrders", Run: s.cursorOrders},
		{Name: "Verify", Run: s.verify},
		{Name: "CursorSet", Run: s.cursorSet},
		{Name: "Waive", Run: s.waive},
		{Name: "Repair", Run: s.repair},
		{Name: "IDCursors", Run: s.idCursors},
		{Name: "Generations", Run: s.generations},
		{Name: "GenerationsInSectors", Run: s.generationsInSectors},
		{Name: "Files", Run: s.files},
		{Name: "Executors", Run: s.executors},
		{Name: "RateMembers", Run: s.rateMembers},
	}
}

// Lossy are the steps of this room whose answers may get lost.
func Lossy() []fixture.Lossy {
	return fixture.LossySteps(enterWorld, lossyRates(), lossyPartial(), lossyCancel(), lossyNamedLease(), lossyTrust(), lossyHealth(), lossyCampaign(), lossyPlanning(), lossyQueue(), lossyRun(), lossyProcess(), lossyTasks(), lossyReslice(), lossyLate(), lossyCursor(), lossyQuota(), lossySchedule(), lossyPause(), lossyRefresh(), lossyQuarantine(), lossyCounts(), lossyQueueLength(), lossyRequestLimits(), lossyGenerations())
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
