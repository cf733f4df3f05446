package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// A source whose items have no date of change, only the date that its filter selects by, is
// harvested like others. The copy fetched last wins (D§5.13).
func TestItemsWithoutADateOfChange(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2025, 3, 3+n, 0, 0, 0, 0, time.UTC) }
	for _, form := range simulated.PagingForms() {
		if form.Name != "token" {
			continue
		}
		onBothDatabases(t, func(t *testing.T, database string) {
			l := &library{T: t, data: upsim.NewDataset(upsim.Config{Seed: 7, From: day(0), To: day(3), PerDay: 40, Flat: true}), now: day(2).Add(10 * time.Minute)}
			l.server, _ = form.Start(t, l.data, "")
			src, _, err := registry.Decode("undated.yaml", []byte(strings.ReplaceAll(form.YAML(l.server.URL()), "updatedAt: $.updated", "")))
			l.must(err)
			harvest, err := Compile(src, "", ingest.Harvest, nil)
			l.must(err)
			if !harvest.Snapshot.Response.UpdatedAt.IsZero() {
				t.Fatal("the source names a date of change")
			}
			localstore.GiveTables(t, database)
			l.app, err = Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 2})
			l.must(err)
			defer l.app.Close()

			from, to := day(0), day(2)
			l.finished(harvest, NewRequest(l.now, &from, &to))
			var changed string
			for truth := range l.data.Heads() {
				changed = truth.DOI
				break
			}
			l.must(l.data.Touch(changed, day(2).Add(time.Hour), true))
			l.now = day(3).Add(10 * time.Minute)
			l.finished(harvest, NewRequest(l.now, nil, nil))
			l.nothingIsOwed(harvest, window.Window{From: day(0), To: day(3)})

			stored := map[string]view.Record{}
			records, err := l.app.store.Records(l.Context(), harvest.Snapshot.Source, simulated.Endpoint, nil, 10_000)
			l.must(err)
			for _, r := range records {
				stored[r.ID] = r
			}
			for truth := range l.data.Heads() {
				if _, there := stored[truth.DOI]; !there {
					t.Errorf("%s is not there", truth.DOI)
				}
			}
			if got := stored[changed]; got.Version != 2 {
				t.Errorf("the work that changed has version %d, want 2", got.Version)
			}
		})
	}
}
