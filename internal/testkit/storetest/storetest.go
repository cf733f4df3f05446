package storetest

import (
	"database/sql"
	"os"
	"slices"
	"testing"

	core "github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/testkit/storetest/access"
	"github.com/patra-ingest/patra/internal/testkit/storetest/alarm"
	"github.com/patra-ingest/patra/internal/testkit/storetest/archive"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
	"github.com/patra-ingest/patra/internal/testkit/storetest/kernel"
	"github.com/patra-ingest/patra/internal/testkit/storetest/ledger"
	"github.com/patra-ingest/patra/internal/testkit/storetest/look"
	"github.com/patra-ingest/patra/internal/testkit/storetest/outbox"
	"github.com/patra-ingest/patra/internal/testkit/storetest/registry"
)

// Database is a database that belongs to one test, and the ways into it.
type Database = fixture.Database

// Run holds a kind of database to the definition. Empty makes a new one without
// tables. Migrated makes one with the schema, where there is a faster way than
// to migrate an empty one for every test; nil is that slow way.
func Run(t *testing.T, empty, migrated func(t *testing.T) Database) {
	s := fixture.Suite{Empty: empty, Migrated: migrated}
	for _, topic := range slices.Concat(
		kernel.Topics(s), ledger.Topics(s), registry.Topics(s), outbox.Topics(s), alarm.Topics(s), access.Topics(s), archive.Topics(s), look.Topics(s),
	) {
		t.Run(topic.Name, topic.Run)
	}
	t.Run("LostAnswers", func(t *testing.T) { lostAnswers(t, s) })
}

// versionTopics are the topics of the ledger and of the views that write or read versions of
// records.
var versionTopics = []string{
	"Candidates", "ChangedRecords", "Signals", "Refreshed", "Believe06", "Believe07", "Quarantine", "StaleWrites", "Batches", "BatchRaces", "RecordHistory", "Fills",
	"Rejects", "ForeignText", "Instants", "Views", "BlackBoxes", "Scans", "DataViews", "ChangeViews",
}

// RunFramed holds a kind of database to the definition once more, with every version
// in a frame, however little a batch changes. Tests that look at rows of versions
// behind the store's back are left out. Topics that touch no version are a proof.
func RunFramed(t *testing.T, empty, migrated func(t *testing.T) Database) {
	s := fixture.Suite{Empty: empty, Migrated: migrated, FrameLeast: 1}
	found := 0
	for _, topic := range slices.Concat(ledger.Topics(s), look.Topics(s)) {
		if slices.Contains(versionTopics, topic.Name) {
			found++
		} else if os.Getenv("PATRA_PROOF") == "" {
			continue
		}
		t.Run(topic.Name, topic.Run)
	}
	if found != len(versionTopics) {
		t.Errorf("%d topics of %d are there", found, len(versionTopics))
	}
	for _, topic := range slices.Concat(outbox.Topics(s), archive.Topics(s)) {
		t.Run(topic.Name, topic.Run)
	}
	t.Run("LostAnswers", func(t *testing.T) { lostAnswers(t, s) })
}

// Damage holds a kind of database to this: what is stored and was changed behind our
// back is never handed out as good. The arguments are those of Run.
func Damage(t *testing.T, empty, migrated func(t *testing.T) Database) {
	archive.Damage(t, fixture.Suite{Empty: empty, Migrated: migrated})
}

// Crowd lets many workers, each a process of its own, end the slices of one plan: all
// of them move one cursor.
func Crowd(t *testing.T, db Database, workers, parts int) { ledger.Crowd(t, db, workers, parts) }

// Catalogue is the schema of a database, a line a column or key.
func Catalogue(t *testing.T, db *sql.DB, dialect string) []string {
	return fixture.Catalogue(t, db, dialect)
}

// Digest is a checksum of each table over all of its rows, for tests that ask whether a
// database was touched at all.
func Digest(t *testing.T, db *sql.DB, dialect string) string { return fixture.Digest(t, db, dialect) }

// Touched names the tables in which two digests differ.
func Touched(before, after string) []string { return fixture.Touched(before, after) }

// OldSources writes a source as programs without versions did, applied twice.
func OldSources(t *testing.T, db *sql.DB) (first, second *core.Source) {
	return registry.OldSources(t, db)
}
