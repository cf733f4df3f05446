package storetest

import (
	"database/sql"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store"
)

// Database is a database that belongs to one test, and the ways into it.
type Database struct {
	// Open gives one more handle with pools of its own, as another process
	// would have. It does not migrate. The handle is closed with the test.
	Open func(t *testing.T, o store.Options) *store.Store
	// SQL goes round the store, to look and to tamper.
	SQL *sql.DB
}

// Run holds a kind of database to the definition. Empty makes a new one without
// tables. Migrated makes one with the schema, where there is a faster way than
// to migrate an empty one for every test; nil is that slow way.
func Run(t *testing.T, empty, migrated func(t *testing.T) Database) {
	s := suite{empty, migrated}
	for _, topic := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Migrations", s.migrations},
		{"Triggers", s.triggers},
		{"Plans", s.plans},
		{"Slices", s.slices},
		{"PlanRaces", s.planRaces},
		{"PartialPlans", s.partialPlans},
		{"PartialPlanRaces", s.partialPlanRaces},
		{"Reslices", s.reslices},
		{"ResliceRaces", s.resliceRaces},
		{"Stock", s.stock},
		{"WindowHistory", s.windowHistory},
		{"LateArrivals", s.lateArrivals},
		{"Answers", s.answers},
		{"Candidates", s.candidates},
		{"ChangedRecords", s.changedRecords},
		{"Signals", s.signals},
		{"Refreshed", s.refreshed},
		{"Believe06", s.believe06},
		{"Believe07", s.believe07},
		{"Quarantine", s.quarantine},
		{"Pace", s.pace},
		{"PlanCancel", s.planCancel},
		{"PlanCancelRaces", s.planCancelRaces},
		{"PlanViews", s.planViews},
		{"Believe09StartedOver", s.startedOver},
		{"LivePlans", s.livePlans},
		{"Schedules", s.schedules},
		{"NamedLeases", s.namedLeases},
		{"Queue", s.queue},
		{"ClaimRace", s.claimRace},
		{"Rotation", s.rotation},
		{"Dispatchers", s.dispatchers},
		{"Pauses", s.pauses},
		{"Consents", s.consents},
		{"Campaigns", s.campaigns},
		{"CampaignWaive", s.campaignWaive},
		{"CampaignArchived", s.campaignArchived},
		{"Breakers", s.breakers},
		{"Holdups", s.holdups},
		{"RateReports", s.rateReports},
		{"Alarms", s.alarms},
		{"Trust13Mended", s.trust13Mended},
		{"Trust13Superseded", s.trust13Superseded},
		{"Trust15Known", s.trust15Known},
		{"Health", s.health},
		{"Quotas", s.quotas},
		{"Releases", s.releases},
		{"QuotaRaces", s.quotaRaces},
		{"Reservations", s.reservations},
		{"TaskCancel", s.taskCancel},
		{"TaskRetry", s.taskRetry},
		{"TaskRaces", s.taskRaces},
		{"Leases", s.leases},
		{"StaleWrites", s.staleWrites},
		{"LostAnswers", s.lostAnswers},
		{"Runs", s.runs},
		{"Batches", s.batches},
		{"RecordHistory", s.recordHistory},
		{"Fills", s.fills},
		{"Rejects", s.rejects},
		{"BatchRaces", s.batchRaces},
		{"ForeignText", s.foreignText},
		{"Instants", s.instants},
		{"Cursor", s.cursor},
		{"CursorOrders", s.cursorOrders},
		{"Verify", s.verify},
		{"CursorSet", s.cursorSet},
		{"Waive", s.waive},
		{"Repair", s.repair},
		{"IDCursors", s.idCursors},
		{"CoverageViews", s.coverageViews},
		{"EventArchives", s.eventArchives},
		{"PlanArchives", s.planArchives},
		{"Pruning", s.pruning},
		{"AuditLog", s.auditLog},
		{"Outbox", s.outbox},
		{"Executors", s.executors},
		{"RateMembers", s.rateMembers},
		{"Views", s.views},
		{"Exchanges", s.exchanges},
		{"BlackBoxes", s.blackBoxes},
		{"Scans", s.scans},
		{"Exports", s.exports},
		{"LateCommits", s.lateCommits},
		{"DataViews", s.dataViews},
		{"Sources", s.sources},
		{"WholeSources", s.wholeSources},
		{"SourceVersions", s.sourceVersions},
		{"SourceRaces", s.sourceRaces},
		{"SourceUpgrade", s.sourceUpgrade},
		{"Dictionary", s.dictionary},
	} {
		t.Run(topic.name, topic.run)
	}
}

type suite struct{ empty, migrated func(*testing.T) Database }

// test runs a body in a world of its own.
func (s suite) test(t *testing.T, name string, body func(w *world)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		body(s.world(t))
	})
}
