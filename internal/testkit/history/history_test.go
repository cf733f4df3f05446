package history_test

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/mysql"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/history"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

func TestFillSQLite(t *testing.T) {
	s := localstore.Migrated(t, sqlite.Config{})
	h, err := history.Fill(t.Context(), s.Store, s.Write, history.Usual(20_000))
	if err != nil {
		t.Fatal(err)
	}
	checkHistory(t, s.Store, h)
}

func TestFillMariaDB(t *testing.T) {
	d, db, err := mysql.Connect(t.Context(), mariadb.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := store.New(d, db, db, store.Options{})
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := history.Fill(t.Context(), s, db, history.Usual(20_000))
	if err != nil {
		t.Fatal(err)
	}
	checkHistory(t, s, h)
}

// checkHistory looks at what readers of a history count on.
func checkHistory(t *testing.T, s *store.Store, h history.History) {
	t.Helper()
	ctx := t.Context()
	count := func(what string, n, want int, err error) {
		t.Helper()
		if err != nil || n != want {
			t.Errorf("%s: %d, want %d; error %v", what, n, want, err)
		}
	}
	batches, err := s.Batches(ctx, view.Filter{Limit: 30_000})
	count("batches", len(batches), 20_000, err)
	if batches[0].ID != h.LastBatch() || batches[0].Exchange == nil || batches[1].Stats.Seen != 100 {
		t.Errorf("the newest batches are %+v and %+v", batches[0], batches[1])
	}
	failed, err := s.Tasks(ctx, view.Filter{Status: "FAILED"})
	count("failed tasks", len(failed), 4, err)
	waiting, err := s.Tasks(ctx, view.Filter{Status: "QUEUED", Limit: 5000})
	count("waiting tasks", len(waiting), 1900, err)
	early, err := s.Batches(ctx, view.Filter{Source: h.Early(), Limit: 5000})
	count("batches of the first plans", len(early), 2000, err)
	tree, err := s.PlanLineage(ctx, h.MiddlePlan(), 0, 51)
	count("slices of a plan", len(tree), 51, err)
	if len(tree) > 0 && (len(tree[0].Task.Runs) != 1 || len(tree[0].Task.Runs[0].Batches) != 10) {
		t.Errorf("a slice of a plan is %+v", tree[0].Task)
	}
	differ, err := s.DifferingCursors(ctx, "")
	count("cursors that differ from their events", len(differ), 0, err)
	cursors, err := s.Cursors(ctx, h.Stalled())
	count("cursors of a source", len(cursors), 1, err)
	events, err := s.CursorTimeline(ctx, cursors[0], h.Begin, h.End.AddDate(0, 0, 1), 0, 5000)
	if err != nil || len(events) < 50 {
		t.Errorf("%d events of a cursor; error %v", len(events), err)
	}
	rejects, err := s.UndecidedRejects(ctx, "")
	count("sources with rejects", len(rejects), 19, err)
	if _, err := s.RejectGroups(ctx, "", true); err != nil {
		t.Error(err)
	}
}
