package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/upsim"
)

// writable opens a database round the program, to tamper with it.
func (w *world) writable() *sql.DB {
	w.t.Helper()
	db, err := check.Open(w.database)
	if file, is := strings.CutPrefix(w.database, "sqlite:"); is {
		db, err = sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { db.Close() })
	return db
}

// body is a stored item as tests change it.
type body struct {
	id             int64
	payload        []byte
	codec          string
	providerID     string
	currentVersion bool
}

func (w *world) bodies(db *sql.DB) (out []body) {
	w.t.Helper()
	rows, err := db.Query("SELECT b.body_id, b.payload, b.codec, r.provider_id, r.body_id = b.body_id FROM ing_record_body b JOIN ing_record r ON r.dataset_id = b.dataset_id AND r.id_hash = b.id_hash ORDER BY b.body_id")
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var b body
		if err := rows.Scan(&b.id, &b.payload, &b.codec, &b.providerID, &b.currentVersion); err != nil {
			w.t.Fatal(err)
		}
		out = append(out, b)
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) tamper(db *sql.DB, query string, args ...any) {
	w.t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		w.t.Fatal(err)
	}
}

// unseal makes bodies as they were before there were checksums.
func (w *world) unseal(db *sql.DB) {
	w.t.Helper()
	for _, b := range w.bodies(db) {
		old := map[string]string{"pl": "plain", "s2": "s2"}[b.codec[:2]]
		w.tamper(db, "UPDATE ing_record_body SET payload = ?, codec = ? WHERE body_id = ?", b.payload[:len(b.payload)-4], old, b.id)
	}
	w.tamper(db, "DELETE FROM ing_upkeep_mark WHERE name LIKE 'checksums%'")
}

// Bodies that were stored before there were checksums are held against the content
// hash of their record, until maintenance has given them theirs. It must not make a
// damaged one look good.
func TestBelieve08BodiesFromBeforeTheChecksums(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 4, PerDay: 30}, upsim.Options{})
		w.harvest(0)
		truth := w.must("data", "export", "crossref", "--out", "-", "--with-payload")
		db := w.writable()
		w.unseal(db)
		if got := w.must("data", "export", "crossref", "--out", "-", "--with-payload"); got != truth {
			t.Error("bodies without checksums are exported otherwise")
		}
		w.verify()

		all := w.bodies(db)
		hit := all[len(all)/2]
		raw, err := s2.Decode(nil, hit.payload)
		if err != nil {
			t.Fatal(err)
		}
		raw = bytes.Replace(raw, []byte(`"publisher":"`), []byte(`"publisher":"X`), 1)
		w.tamper(db, "UPDATE ing_record_body SET payload = ? WHERE body_id = ?", s2.Encode(nil, raw), hit.id)
		refused := func(when string) {
			t.Helper()
			for _, args := range [][]string{
				{"data", "get", "crossref", hit.providerID}, {"data", "export", "crossref", "--out", "-"}, {"data", "export", "crossref", "--out", "-", "--with-payload"},
			} {
				code, _, errText := w.patra(args...)
				if code != 1 || !strings.Contains(errText, hit.providerID) || !strings.Contains(errText, "patra db check") {
					t.Errorf("%s: patra %s: exit %d, %s", when, strings.Join(args, " "), code, errText)
				}
			}
		}
		refused("before maintenance")

		app := w.open()
		service, err := app.Maintenance()
		if err != nil {
			t.Fatal(err)
		}
		done, err := service.Seal(t.Context())
		if err != nil || !done.End || len(done.Damaged) != 1 || int(done.Bodies) != len(all)-1 {
			t.Fatalf("%+v, %v", done, err)
		}
		refused("after maintenance")
		if again, err := service.Seal(t.Context()); err != nil || again.Bodies != 0 || !again.End {
			t.Errorf("again: %+v, %v", again, err)
		}
		for _, b := range w.bodies(db) {
			if sealed := len(b.codec) == 8; sealed != (b.id != hit.id) {
				t.Errorf("body %d has codec %s", b.id, b.codec)
			}
		}
		w.tamper(db, "UPDATE ing_record_body SET payload = ? WHERE body_id = ?", hit.payload, hit.id)
		if got := w.must("data", "export", "crossref", "--out", "-", "--with-payload"); got != truth {
			t.Error("bodies that got their checksums are exported otherwise")
		}
	})
}

// checked runs a check of the database and gives what it found, by kind.
func (w *world) checked(code int) map[string]int {
	w.t.Helper()
	got, out, errText := w.patra("db", "check", "-o", "json", "-q")
	if got != code {
		w.t.Fatalf("db check: exit %d, want %d\n%s%s", got, code, out, errText)
	}
	var r struct {
		Found map[string]int
		Next  map[string]string
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	for kind := range r.Found {
		if r.Next[kind] == "" {
			w.t.Errorf("nobody is told what to do about %s", kind)
		}
	}
	return r.Found
}

// A check of the database finds what was changed behind its back, says what to do, and
// is remembered.
func TestBelieve08TheDatabaseIsChecked(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 4, PerDay: 30}, upsim.Options{})
		w.harvest(0)
		if found := w.checked(0); len(found) > 0 {
			t.Fatalf("a sound database: %v", found)
		}
		w.must("status", "--check-age", "1h")
		db := w.writable()
		all := w.bodies(db)
		for _, c := range []struct {
			kind, query string
			args        []any
		}{
			{"BODY", "UPDATE ing_record_body SET fields = '{}' WHERE body_id = ?", []any{all[3].id}},
			{"HEAD", "DELETE FROM ing_record WHERE provider_id = ?", []any{all[5].providerID}},
			{"COUNT", "DELETE FROM ing_record_body WHERE body_id = ?", []any{all[7].id}},
			{"CURSOR", "UPDATE ing_cursor SET version = version + 1, normalized_instant = normalized_instant + 1000000 WHERE id = ?", []any{1}},
		} {
			before := w.patraFound()
			w.tamper(db, c.query, c.args...)
			if after := w.checked(9); after[c.kind] <= before[c.kind] {
				t.Errorf("%s: %v before, %v after", c.query, before, after)
			}
		}
		code, out, _ := w.patra("status")
		if code != 9 || !strings.Contains(out, "patra db check") {
			t.Errorf("status: exit %d, %s", code, out)
		}
	})
}

// patraFound is what a check finds, whatever it is.
func (w *world) patraFound() map[string]int {
	w.t.Helper()
	code, _, _ := w.patra("db", "check", "-o", "json", "-q")
	return w.checked(code)
}
