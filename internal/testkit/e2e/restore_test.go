package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/upsim"
)

// backup copies the database as it is now and gives the address of the copy.
func (w *world) backup() string {
	w.t.Helper()
	if file, is := strings.CutPrefix(w.database, "sqlite:"); is {
		db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(60000)")
		if err != nil {
			w.t.Fatal(err)
		}
		defer db.Close()
		copied := filepath.Join(w.t.TempDir(), "yesterday.db")
		if _, err := db.ExecContext(w.t.Context(), "VACUUM INTO ?", copied); err != nil {
			w.t.Fatal(err)
		}
		return "sqlite:" + copied
	}
	db, err := check.Open(w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	copied := mariadb.DSN(w.t)
	address, err := url.Parse(copied)
	if err != nil {
		w.t.Fatal(err)
	}
	rows, err := db.QueryContext(w.t.Context(), "SHOW TABLES")
	if err != nil {
		w.t.Fatal(err)
	}
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			w.t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	for _, name := range tables {
		to := strings.Trim(address.Path, "/") + "." + name
		for _, query := range []string{"CREATE TABLE " + to + " LIKE " + name, "INSERT INTO " + to + " SELECT * FROM " + name} {
			if _, err := db.ExecContext(w.t.Context(), query); err != nil {
				w.t.Fatalf("%s: %v", query, err)
			}
		}
	}
	return copied
}

// told is an event as a receiver reads it.
type told struct {
	ID, Subject, Type string
	Time              time.Time
	Version           int `json:"patraversion,string"`
	Data              struct{ Payload json.RawMessage }
}

func (w *world) told(lines []string) (out []told) {
	w.t.Helper()
	for _, line := range lines {
		var e told
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.t.Fatalf("%s: %v", line, err)
		}
		out = append(out, e)
	}
	return out
}

// F51: yesterday's database is put back under an upstream that went on. The cursor
// goes back with the data, so the next harvest reads what is missing and converges;
// what is published again has the ids of the first time. A receiver that follows
// the documented rule ends with what the upstream has.
func TestF51YesterdaysDatabaseIsRestored(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 51, PerDay: 20, Flat: true}, upsim.Options{})
		t.Setenv("PATRA_RAW_DIR", t.TempDir())
		today := func(dir string, change ...string) {
			t.Helper()
			for i, id := range change {
				if err := w.data.Touch(id, w.now.Add(time.Duration(i+1)*time.Minute), true); err != nil {
					t.Fatal(err)
				}
			}
			w.now = w.now.Add(24 * time.Hour)
			w.harvest(0, "--events", intoFiles(t, dir))
			w.verify()
		}
		var ids []string
		for truth := range w.data.Heads() {
			ids = append(ids, truth.DOI)
		}
		first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
		today(first)
		yesterday := w.backup()
		today(first, ids[:6]...)
		before := w.told(published(t, first))

		w.database = yesterday     // the copy takes the place of what was lost
		today(second, ids[3:9]...) // some of them changed once more since
		after := w.told(published(t, second))

		known := map[string]told{}
		for _, e := range before {
			known[e.ID] = e
		}
		again, other := 0, 0
		for _, e := range after {
			was, twice := known[e.ID]
			if !twice {
				continue
			}
			if again++; was.Subject != e.Subject || was.Version != e.Version || was.Type != e.Type {
				t.Errorf("%+v has the id of %+v", e, was)
			}
			if w.content(was.Data.Payload) != w.content(e.Data.Payload) {
				other++
			}
		}
		if again != 6 || other != 3 || len(after) != 9 {
			t.Errorf("%d events after the restore, %d with ids of before, %d of those with another content; want 9, 6 and 3", len(after), again, other)
		}
		w.receiverHasAll(append(before, after...))
	})
}

// receiverHasAll is the rule of docs/events.md: ignore what has neither a larger
// version nor a later time than what you have of the record.
func (w *world) receiverHasAll(events []told) {
	w.t.Helper()
	has := map[string]told{}
	for _, e := range events {
		if have, known := has[e.Subject]; known && e.Version <= have.Version && !e.Time.After(have.Time) {
			continue
		}
		has[e.Subject] = e
	}
	n := 0
	for truth := range w.data.All() {
		n++
		if got, ok := has[strings.ToLower(truth.DOI)]; !ok || w.content(got.Data.Payload) != w.content(truth.JSON) {
			w.t.Errorf("the receiver has %s as %s", truth.DOI, fmt.Sprintf("version %d of %v", got.Version, got.Time))
		}
	}
	if n == 0 || len(has) != n {
		w.t.Errorf("the receiver has %d records, the upstream %d", len(has), n)
	}
}
