package maintenance

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/driver/archive"
)

// Two databases, or an older and a newer state of one, archive into one folder: neither
// loses a row.
func TestTwoDatabasesShareAFolder(t *testing.T) {
	database := aged(t)
	one, two := newPlace(t, database), newPlace(t, database)
	two.files = one.files
	before := one.rows(append([]string{"ing_cursor_event"}, treeTables...)...)
	one.must(one.all("one"))
	two.must(two.all("two"))
	for _, p := range []*place{one, two} {
		p.filesAreSound()
		p.nothingLost(before)
	}
	one.must(one.all("one"))
	one.filesAreSound()
}

// A backup is taken while a file has its name and is not sealed yet. It is put in the place
// of the database, archives again, and the newer database is put back.
func TestABackupOfAnArchivingIsPutBack(t *testing.T) {
	database := aged(t)
	for no := range 4 { // three ledgers and a file of plans
		newer := newPlace(t, database)
		copied, file := filepath.Join(newer.dir, "backup.db"), 0
		newer.files.CrashAfter = func(step string) error {
			if step != archive.StepFolder {
				return nil
			}
			if file++; file != no+1 {
				return nil
			}
			_, err := newer.sql.Exec("VACUUM INTO ?", copied)
			return err
		}
		newer.must(newer.all("newer"))
		newer.files.CrashAfter = func(string) error { return nil }
		backup, err := os.ReadFile(copied)
		newer.must(err)
		older := newPlace(t, backup)
		older.files, older.now = newer.files, newer.now.Add(time.Hour) // the lease in the backup has run out
		older.must(older.all("older"))
		older.filesAreSound()
		newer.filesAreSound()
	}
}

// A program that gave files names without a tag was killed before it wrote one, and another
// database has sealed a file of that name: that file stays, and the rows get another.
func TestANameOfAnotherDatabaseIsLeftAlone(t *testing.T) {
	database := aged(t)
	one, two := newPlace(t, database), newPlace(t, database)
	two.files = one.files
	a, begun, err := two.store.BeginEventArchive(t.Context(), 1, two.now.Add(-policy.Archive), 1)
	if err != nil || !begun {
		t.Fatal(begun, err)
	}
	_, err = one.service("one").Archive(t.Context(), policy, tester)
	one.must(err)
	archives, _, err := one.service("one").Check(t.Context())
	one.must(err)
	at := slices.IndexFunc(archives, func(a retention.Archive) bool { return a.Kind == retention.Plans })
	_, err = two.store.NameArchive(t.Context(), a.ID, archives[at].Name)
	two.must(err)
	two.must(two.all("two"))
	one.filesAreSound()
	two.filesAreSound()
}

// filesAreSound: every file is what it was sealed as, and gives what is in the database.
func (p *place) filesAreSound() {
	p.Helper()
	_, problems, err := p.service("checker").Check(context.WithoutCancel(p.Context()))
	p.must(err)
	if len(problems) > 0 {
		p.Errorf("%v", problems)
	}
	p.verified()
}
