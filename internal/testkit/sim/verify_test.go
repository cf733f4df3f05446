package sim

import (
	"database/sql"
	"fmt"

	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
)

// verify holds the database against the upstreams and the invariants. It runs
// outside of the bubble.
func (w *world) verify() {
	w.Helper()
	db, err := check.Open(w.kept.database)
	w.must(err)
	defer db.Close()
	problems, err := check.All(w.Context(), db)
	w.must(err)
	for _, u := range w.upstreams {
		lost, err := check.Lost(w.Context(), db, u.code, simulated.Endpoint, u.items(), u.aside(), u.knew)
		w.must(err)
		problems = append(problems, lost...)
		if u.whole {
			problems = append(problems, w.readingsHadTheList(db, u)...)
		}
		if u.racks != nil {
			problems = append(problems, w.racksAreKnown(db, u)...)
		}
	}
	problems = append(problems, w.bodiesAreThere(db)...)
	for _, p := range problems {
		w.Error(p)
	}
	for _, c := range []struct{ what, query string }{
		{"batches", "SELECT COUNT(*) FROM ing_task_run_batch"}, {"failed batches", "SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code <> 'SUCCEEDED'"},
		{"plans", "SELECT COUNT(*) FROM ing_plan"}, {"runs", "SELECT COUNT(*) FROM ing_task_run"}, {"records", "SELECT COUNT(*) FROM ing_record"},
		{"events", "SELECT COUNT(*) FROM ing_outbox_message"}, {"lost leases", "SELECT COUNT(*) FROM ing_task_run WHERE error_code = 'LEASE_EXPIRED'"},
		{"failed runs", "SELECT COUNT(*) FROM ing_task_run WHERE status_code = 'FAILED'"}, {"re-cut slices", "SELECT COUNT(*) FROM ing_reslice_request WHERE status_code = 'DONE'"},
		{"slices with refused parts", "SELECT COUNT(*) FROM ing_plan_slice WHERE sector_lost LIKE '%451%'"}, {"slices with other lost parts", "SELECT COUNT(*) FROM ing_plan_slice WHERE sector_lost IS NOT NULL AND sector_lost NOT LIKE '%451%'"},
	} {
		var n int
		w.must(db.QueryRowContext(w.Context(), c.query).Scan(&n))
		w.tally[c.what] = n
	}
	w.tally["lost commit answers"] = w.lost.n
	if w.receiver != nil {
		for _, p := range w.arrived(w.tally["events"]) {
			w.Error(p)
		}
	}
}

func (u *upstream) items() (out []check.Item) {
	for truth := range u.data.Heads() {
		if isForeign(truth.DOI) {
			continue
		}
		item := check.Item{ID: u.stored(truth.DOI), Stamp: u.lies.Shown(truth.Indexed), Version: int64(truth.Version)}
		if u.folds {
			item.Version = 0
		}
		out = append(out, item)
	}
	return out
}

// aside are works that a fault served broken as they are now: their id cannot be
// told from what lies in quarantine.
func (u *upstream) aside() func(check.Item) bool {
	type version struct {
		id string
		n  int64
	}
	broken := map[version]bool{}
	for _, a := range u.server.Altered() {
		n := int64(a.Version)
		if u.folds {
			n = 0
		}
		broken[version{u.stored(a.DOI), n}] = true
	}
	return func(i check.Item) bool { return broken[version{i.ID, i.Version}] }
}

// bodiesAreThere: no batch refers to a body that was not kept, as a file or without its items.
func (w *world) bodiesAreThere(db *sql.DB) (problems []string) {
	rows, err := db.QueryContext(w.Context(), "SELECT batch_id, blob_ref FROM ing_batch_evidence WHERE blob_ref IS NOT NULL")
	w.must(err)
	defer rows.Close()
	store := localstore.Beside(w.T, w.kept.database)
	for rows.Next() {
		var batch int64
		var ref string
		w.must(rows.Scan(&batch, &ref))
		if w.bodies.kept[ref] {
			continue
		}
		if _, err := store.LeanAnswer(w.Context(), ref); err != nil {
			problems = append(problems, fmt.Sprintf("batch %d refers to a body that is not kept: %v", batch, err))
		}
	}
	w.must(rows.Err())
	return problems
}
