package e2e

import (
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/mysql"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// beforeFrames is a database that the program wrote just before it had frames, with a
// clock of 2024: two sources, four passes over the same made records, every version in a
// row of its own.
//
//go:embed testdata/before-frames.db.zst
var beforeFrames []byte

// schemaBeforeFrames is the version of its tables.
const schemaBeforeFrames = 37

// oldFile writes the file.
func oldFile(t *testing.T) (path string) {
	t.Helper()
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	plain, err := d.DecodeAll(beforeFrames, nil)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "old.db")
	if err := os.WriteFile(path, plain, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// loadOld makes a database what the older program left: the file itself, or the same rows
// in the same tables of a server.
func loadOld(t *testing.T, database string) {
	t.Helper()
	file := oldFile(t)
	if path, is := strings.CutPrefix(database, "sqlite:"); is {
		if err := os.Rename(file, path); err != nil {
			t.Fatal(err)
		}
		return
	}
	s, err := mysql.Open(t.Context(), database, store.Options{Schema: schemaBeforeFrames})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	from, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	into, err := (&world{t: t, database: database}).writable().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer into.Rollback()
	for _, table := range fixture.Column(t, from, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'patra_schema_version' ORDER BY name") {
		copyTable(t, from, into, table)
	}
	if err := into.Commit(); err != nil {
		t.Fatal(err)
	}
}

func copyTable(t *testing.T, from *sql.DB, into *sql.Tx, table string) {
	t.Helper()
	rows, err := from.QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, places := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		places[i] = &values[i]
	}
	insert := "REPLACE INTO " + table + " (" + strings.Join(names, ", ") + ") VALUES (?" + strings.Repeat(",?", len(names)-1) + ")"
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		if _, err := into.ExecContext(t.Context(), insert, values...); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// versions reads all versions of the older program's records through the store.
func versions(t *testing.T, database string) map[string]string {
	t.Helper()
	db, err := check.Open(database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := localstore.Beside(t, database)
	out := map[string]string{}
	for _, row := range fixture.Column(t, db, "SELECT CONCAT(dataset_id, ' ', provider_id) FROM ing_record WHERE provider_id LIKE '10.5555/a.%' OR provider_id LIKE '10.5555/b.%'") {
		var dataset int64
		var id string
		if _, err := fmt.Sscan(row, &dataset, &id); err != nil {
			t.Fatal(err)
		}
		_, body, err := s.Head(t.Context(), view.Dataset{ID: dataset}, id)
		if err != nil {
			t.Fatal(err)
		}
		history, err := s.VersionsOf(t.Context(), body, 1000)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		for _, v := range history {
			out[fmt.Sprintf("%s %d", row, v.Version)] = fmt.Sprintf("%d %d %v %v %s %s", v.Body, v.Prev, v.UpdatedAt, v.FetchedAt, v.Fields, v.Raw)
		}
	}
	return out
}

// oldVersions is what must be read back: what is read of the file where nothing was
// moved. The newest versions are held against the hashes that the older program noted.
func oldVersions(t *testing.T) map[string]string {
	t.Helper()
	path := oldFile(t)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	hashes := fixture.Column(t, db, "SELECT dataset_id || ' ' || provider_id || ' ' || version || ' ' || hex(content_hash) FROM ing_record")
	count := fixture.Column(t, db, "SELECT COUNT(*) FROM ing_record_body")[0]
	db.Close()
	w := &world{t: t, database: "sqlite:" + path}
	w.must("db", "migrate")
	want := versions(t, w.database)
	if fmt.Sprint(len(want)) != count {
		t.Fatalf("%d versions are read of %s", len(want), count)
	}
	for _, row := range hashes {
		at := strings.LastIndexByte(row, ' ')
		_, raw, _ := strings.Cut(want[row[:at]], ` {"DOI"`)
		if sum := sha256.Sum256([]byte(`{"DOI"` + raw)); fmt.Sprintf("%X", sum) != row[at+1:] {
			t.Fatalf("%s is not what the older program stored", row[:at])
		}
	}
	return want
}

// killed runs a command until a point kills it, and reports whether it did.
func (w *world) killed(p crash.Point, passage int, args ...string) bool {
	w.t.Helper()
	cmd, output := (&subject{world: w}).armed(fmt.Sprintf("%s:%d:kill", p, passage), args...)
	_ = cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return status.Signal() == syscall.SIGKILL
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		w.t.Fatalf("patra %s, which was to die at %s: exit %d\n%s", strings.Join(args, " "), p, code, output)
	}
	return false
}

// forgetLease lets a minute pass for whoever waits for the lease of the dead.
func (w *world) forgetLease() {
	w.t.Helper()
	if _, err := w.writable().Exec("DELETE FROM ing_named_lease"); err != nil {
		w.t.Fatal(err)
	}
}

// A database of the older program is migrated, its versions are moved into frames, and
// it is pruned and repacked, with kill -9 at every step of it: all that is not pruned
// reads back as it was.
func TestKilledWhileAnOlderDatabaseIsMigrated(t *testing.T) {
	want := oldVersions(t)
	newest := map[string]string{}
	for key, text := range want {
		at := strings.LastIndexByte(key, ' ')
		if _, newer := want[key[:at+1]+fmt.Sprint(int(key[at+1]-'0')+1)]; !newer {
			newest[key] = text
		}
	}
	onEveryDatabase(t, func(t *testing.T, database string) {
		loadOld(t, database)
		w := &world{t: t, database: database}
		kills := 0
		for passage := 1; w.killed(crash.Migrating, passage, "db", "migrate"); passage++ {
			kills++
		}
		if kills == 0 {
			t.Fatal("nothing was migrated")
		}
		same := func(what string, want map[string]string) {
			t.Helper()
			if got := versions(t, database); !maps.Equal(got, want) {
				t.Fatalf("%s: %d versions are read, want %d, or others", what, len(got), len(want))
			}
			w.must("db", "check")
		}
		same("after the migration", want)
		prune := []string{"db", "prune", "--versions-keep", "30d", "--outbox-keep", "7d"}
		for _, step := range []struct {
			point crash.Point
			args  []string
			want  map[string]string
		}{
			{crash.Folding, []string{"db", "compact"}, want},
			{crash.Pruning, prune, newest},
			{crash.Repacking, []string{"db", "compact"}, newest},
		} {
			before := versions(t, database)
			if !w.killed(step.point, 1, step.args...) {
				t.Fatalf("patra %v does not pass %s", step.args, step.point)
			}
			same(fmt.Sprintf("killed at %s", step.point), before)
			w.forgetLease()
			w.must(step.args...)
			same(fmt.Sprintf("after %v", step.args), step.want)
		}
		rows, frames := w.standing()
		if len(rows) > 0 || len(frames) == 0 || len(frames) > 4 {
			t.Errorf("%d rows, frames %v", len(rows), frames)
		}
	})
}

// standing lists what stands in rows and in frames.
func (w *world) standing() (rows, frames []string) {
	w.t.Helper()
	db := w.writable()
	rows, frames = fixture.Column(w.t, db, "SELECT body_id FROM ing_record_body"), fixture.Column(w.t, db, "SELECT frame_id FROM ing_body_frame")
	slices.Sort(frames)
	return rows, frames
}
