package replay_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the checksums go round the store

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/storetest"
	"github.com/patra-ingest/patra/internal/upsim"
)

var (
	from = time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
	to   = time.Date(2025, 3, 5, 0, 0, 0, 0, time.UTC)
)

func dataset(perDay int) *upsim.Dataset {
	return upsim.NewDataset(upsim.Config{Seed: 5, PerDay: perDay, Flat: true, From: from, To: to})
}

// world is a database that was harvested into.
type world struct {
	*testing.T
	app  *daemon.App
	file string
}

func harvested(t *testing.T, c *spec.Compiled) *world {
	t.Helper()
	w := &world{T: t, file: filepath.Join(t.TempDir(), "patra.db")}
	localstore.Place(t, w.file)
	app, err := daemon.Open(t.Context(), daemon.Config{Database: "sqlite:" + w.file, Relaxed: true, Installed: trusting(c.Snapshot)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { app.Close() })
	w.app = app
	w.harvest(c)
	return w
}

// trusting is an installation that agreed to what a source wants.
func trusting(s spec.Snapshot) (in daemon.Installed) {
	in.Trust.Secrets = map[string][]trust.Ref{}
	for _, u := range trust.Of(s) {
		in.Trust.Secrets[u.Host] = append(in.Trust.Secrets[u.Host], u.Ref)
	}
	return in
}

func (w *world) harvest(c *spec.Compiled) {
	w.Helper()
	first, last := from, to
	if _, err := w.app.Harvest(w.Context(), c, daemon.NewRequest(time.Now(), &first, &last), daemon.Watch{}); err != nil {
		w.Fatal(err)
	}
}

// store opens the database beside the app.
func (w *world) store() *store.Store { return localstore.Beside(w.T, "sqlite:"+w.file) }

func (w *world) batches() []view.Batch {
	w.Helper()
	list, err := w.app.Tasks.ListBatches(w.Context(), view.Filter{Limit: 10_000})
	if err != nil {
		w.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

func (w *world) replay(id int64, o daemon.ReplayOptions) *blackbox.Report {
	w.Helper()
	if o.From == "" {
		o.From = daemon.ReplayRaw
	}
	o.At = time.Now()
	report, err := w.app.Replays.Replay(w.Context(), daemon.BatchRef{BatchID: id}, o)
	if err != nil {
		w.Fatalf("batch %d: %v", id, err)
	}
	return report
}

// pure checks that body leaves every row of every table as it is (I13).
func (w *world) pure(body func()) {
	w.Helper()
	if touched := w.touchedBy(body); len(touched) > 0 {
		w.Errorf("a replay wrote something: %v", touched)
	}
}

// pureAsking checks the same of a replay that asks the upstream. It takes its turn among the
// processes that share a rate, and their agreement is all that may change.
func (w *world) pureAsking(body func()) {
	w.Helper()
	if touched := slices.DeleteFunc(w.touchedBy(body), func(table string) bool { return table == "ing_rate_member" }); len(touched) > 0 {
		w.Errorf("a replay that asks the upstream wrote something: %v", touched)
	}
}

// touchedBy returns which tables body changes.
func (w *world) touchedBy(body func()) []string {
	w.Helper()
	db, err := sql.Open("sqlite", "file:"+w.file+"?_pragma=busy_timeout(60000)")
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	before := storetest.Digest(w.T, db, "sqlite")
	body()
	return storetest.Touched(before, storetest.Digest(w.T, db, "sqlite"))
}

func (w *world) same(r *blackbox.Report) {
	w.Helper()
	if !r.Identical {
		w.Errorf("batch %d (%s, page %d): %+v %+v", r.Keys.BatchID, r.Source, r.Keys.BatchNo, r.Differences, r.Records)
	}
}

func (w *world) exec(query string, args ...any) {
	w.Helper()
	db, err := sql.Open("sqlite", "file:"+w.file+"?_pragma=busy_timeout(60000)")
	if err == nil {
		defer db.Close()
		_, err = db.Exec(query, args...)
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) texts(query string) (out []string) {
	w.Helper()
	db, err := sql.Open("sqlite", "file:"+w.file+"?_pragma=busy_timeout(60000)")
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(query)
	if err != nil {
		w.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			w.Fatal(err)
		}
		out = append(out, text)
	}
	if err := rows.Err(); err != nil {
		w.Fatal(err)
	}
	return out
}
