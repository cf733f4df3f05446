package exportfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
)

// damages are what others do to an exported file, and what is said of it then.
var damages = []struct{ query, problem string }{
	{"DELETE FROM s_e WHERE id = 'b'", "table s_e has 2 rows, and 3 were exported"},
	{"INSERT INTO s_e (id, version, batchId) VALUES ('own', 1, 1)", "table s_e has 4 rows, and 3 were exported"},
	{"ALTER TABLE s_e DROP COLUMN title", "table s_e has no column title: it was removed or renamed"},
	{"ALTER TABLE s_e RENAME COLUMN title TO heading", "table s_e has no column title"},
	{"ALTER TABLE s_e DROP COLUMN fetchedAt", "table s_e has no column fetchedAt"},
	{"ALTER TABLE s_e DROP COLUMN payload", "table s_e has no column payload"},
	{"ALTER TABLE s_e RENAME TO mine", "table s_e is not there: it was removed or renamed"},
}

func damagedTable(t *testing.T, query string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "works.db")
	o := tableOrder(0)
	o.Form.Payload = true
	mustFill(t, o, path, false, 5, rec("a", `{"title":"x","doi":"1"}`, `{}`), rec("b", `{"title":"y"}`, `{}`), rec("c", `{"title":"z"}`, `{}`))
	expectSound(t, path)
	ask(t, path, query)
	return path
}

func expectSound(t *testing.T, path string) {
	t.Helper()
	if _, problems, err := VerifyTables(t.Context(), path); err != nil || len(problems) > 0 {
		t.Errorf("%q, %v", problems, err)
	}
}

func expectProblem(t *testing.T, path, want string) {
	t.Helper()
	_, problems, err := VerifyTables(t.Context(), path)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0], want) {
		t.Errorf("%q, %v; want %q", problems, err, want)
	}
}

// What is not as it was exported is refused and stays so: an update on top of it would
// store the damage as what was exported, and no later check could tell.
func TestDamagedTableIsNotBroughtUpToDate(t *testing.T) {
	for _, damage := range damages {
		path := damagedTable(t, damage.query)
		before, _ := os.ReadFile(path)
		for _, force := range []bool{false, true} {
			_, err := fill(t, tableOrder(5), path, force, 7, rec("a", `{"title":"x2"}`), rec("d", `{"title":"new"}`))
			if !errors.Is(err, fault.ErrConflict) {
				t.Errorf("%s: %v", damage.query, err)
				continue
			}
			for _, want := range []string{damage.problem, "nothing was changed", "new file", "`patra data export s/e --format sqlite --out " + path + " --with-payload --force`"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v; want %q", damage.query, err, want)
				}
			}
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s: the file was changed", damage.query)
		}
		expectProblem(t, path, damage.problem)
		whole := tableOrder(0)
		whole.Form.Payload = true
		mustFill(t, whole, path, true, 7, rec("a", `{"title":"x2"}`)) // what the refusal advises
		expectSound(t, path)
	}
}

// The table keeps the choice of fields it was made with, so the command has to say it too.
func TestRefusalTellsTheFieldsOfTheTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "works.db")
	o := tableOrder(0)
	o.Form.Fields = []string{"title", "doi"}
	mustFill(t, o, path, false, 5, rec("a", `{"title":"x"}`))
	ask(t, path, "DELETE FROM s_e")
	if _, err := fill(t, tableOrder(5), path, false, 7); err == nil || !strings.Contains(err.Error(), path+" --fields title,doi --force`") {
		t.Error(err)
	}
}

// A row that is lost while the table is brought up to date is missed by the next check: what
// is stored is reckoned from what was done, not counted.
func TestRowLostDuringTheUpdateShows(t *testing.T) {
	path := damagedTable(t, "CREATE TRIGGER mine AFTER UPDATE ON s_e BEGIN DELETE FROM s_e WHERE id = 'b'; END")
	f := mustFill(t, tableOrder(5), path, false, 7, rec("a", `{"title":"x2"}`), rec("c", ""), rec("nobody", ""), rec("d", `{"title":"new"}`), rec("e", `{"title":"new"}`))
	if f.Rows != 4 {
		t.Errorf("%+v", f)
	}
	expectProblem(t, path, "table s_e has 3 rows, and 4 were exported")
}

// A record that the file does not take ends the export: it would be in no later one.
func TestRecordThatIsNotTakenEndsTheExport(t *testing.T) {
	path := damagedTable(t, "CREATE TRIGGER mine BEFORE INSERT ON s_e WHEN NEW.id = 'd' BEGIN SELECT RAISE(IGNORE); END")
	_, err := fill(t, tableOrder(5), path, false, 7, rec("d", `{"title":"new"}`))
	if err == nil || !strings.Contains(err.Error(), `record "d"`) || !strings.Contains(err.Error(), "trigger") {
		t.Error(err)
	}
	expectSound(t, path)
}

// A file that does not say what it holds was not checked, and is not called whole.
func TestVerifyMissesWhatTheFileSaysOfItself(t *testing.T) {
	for query, want := range map[string]string{
		"DELETE FROM patra_export":                    "table patra_export is empty",
		"DROP TABLE patra_export":                     "table patra_export cannot be read",
		"DROP TABLE patra_column":                     "cannot be read",
		"DELETE FROM patra_export WHERE source = 'q'": "table patra_export does not name table q_e, which was exported",
	} {
		path := damagedTable(t, "SELECT 1")
		second := tableOrder(0)
		second.Source = "q"
		mustFill(t, second, path, false, 1, rec("q", `{"title":"x"}`))
		ask(t, path, query)
		_, problems, err := VerifyTables(t.Context(), path)
		if err != nil || len(problems) == 0 || !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("%s: %q, %v", query, problems, err)
		}
	}
}

// A file with a page of nonsense is told of as the export that it is: what to do about a
// damaged database of patra would mislead.
func TestDamagedPageOfAnExportIsItsOwn(t *testing.T) {
	path := damagedTable(t, "SELECT 1")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for i := page; i < len(content); i += page {
		for j := range 100 {
			content[i+j] = 0xff
		}
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, updating := fill(t, tableOrder(5), path, false, 7, rec("a", `{"title":"x2"}`))
	_, reading := TableCursor(t.Context(), path, "s", "e")
	for _, err := range []error{updating, reading} {
		if err = sqlite.Advise(err); err == nil || !strings.Contains(err.Error(), "the file of the export is damaged") || strings.Contains(err.Error(), "patra db check") {
			t.Errorf("%v", err)
		}
	}
}
