package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// subject is a world that is read through a source of some kind.
type subject struct {
	*world
	source   string
	lag      time.Duration
	requests int // what an undisturbed harvest sends; 0 where pages cannot be replayed
}

// kind is a way to read an upstream, as far as crashes are concerned.
type kind struct {
	name  string
	start func(t *testing.T, database string, o upsim.Options) *subject
}

// kinds are a walk that dies with its worker, one that can be taken up at any
// page, one in two steps, and one in two steps whose search is read until two
// passes agree. A worker knows which details it has asked for; the next one asks
// again when the second pass names them, so there is nothing to count.
func kinds() []kind {
	return []kind{
		{"scroll", startScroll},
		{"token", startForm("token", 16)},
		{"two-phase", startForm("search", 44, "paging.stable=true")},
		{"moving", startForm("search", 0)},
	}
}

func ofKind(t *testing.T, name string) kind {
	t.Helper()
	for _, k := range kinds() {
		if k.name == name {
			return k
		}
	}
	t.Fatalf("there is no kind %s", name)
	return kind{}
}

// daily is a week in six slices of about three pages.
func daily() upsim.Config { return upsim.Config{Seed: 61, PerDay: 25, Flat: true} }

func startScroll(t *testing.T, database string, o upsim.Options) *subject {
	t.Helper()
	w := newWorld(t, database, daily(), o)
	w.settings = append(w.settings, "slicing.step=P1D", "paging.size=10")
	return &subject{world: w, source: "crossref", lag: 30 * time.Minute}
}

func startForm(name string, requests int, settings ...string) func(*testing.T, string, upsim.Options) *subject {
	return func(t *testing.T, database string, o upsim.Options) *subject {
		t.Helper()
		for _, f := range simulated.PagingForms() {
			if f.Name == name {
				w := newWorld(t, database, daily(), o)
				w.settings = settings
				file := filepath.Join(t.TempDir(), name+".yaml")
				if err := os.WriteFile(file, []byte(f.YAML(w.server.URL())), 0o600); err != nil {
					t.Fatal(err)
				}
				w.must("source", "apply", file)
				return &subject{world: w, source: "form-" + name, lag: 10 * time.Minute, requests: requests}
			}
		}
		t.Fatalf("there is no form %s", name)
		return nil
	}
}

// args harvest the week with one worker: then the n-th passage of a point is
// always at the same place.
func (s *subject) args(more ...string) []string {
	args := s.harvestArgs(append([]string{"--workers", "1"}, more...)...)
	args[1] = s.source
	return args
}

// finish harvests to the end. Nothing is rejected in these worlds.
func (s *subject) finish() {
	s.t.Helper()
	s.must(s.args()...)
}

// sane holds what is stored at this moment against the invariants, whether or
// not a harvest has ended.
func (s *subject) sane() {
	s.t.Helper()
	db, err := check.Open(s.database)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	problems, err := check.All(s.t.Context(), db)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range problems {
		s.t.Error(p)
	}
	var idle int
	err = db.QueryRowContext(s.t.Context(), "SELECT COUNT(*) FROM ing_plan_slice s LEFT JOIN ing_task t ON t.slice_id = s.id WHERE t.id IS NULL").Scan(&idle)
	if err != nil || idle > 0 {
		s.t.Errorf("%d slices have no task, %v: nobody would ever read them", idle, err)
	}
	if strings.HasPrefix(s.database, "sqlite:") {
		var verdict string
		if err := db.QueryRowContext(s.t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
			s.t.Errorf("integrity check: %s, %v", verdict, err)
		}
	}
	s.must("cursor", "verify")
}

// whole expects every work once, and nothing left to do or given up.
func (s *subject) whole() {
	s.t.Helper()
	s.allOnce()
	s.ended(s.open().Tasks.List(s.t.Context(), view.Filter{Limit: 1000}))
}

// allOnce expects every work once, one event for each, a cursor at the end of the
// window and each kept body in its place.
func (s *subject) allOnce() {
	s.t.Helper()
	s.sane()
	app := s.open()
	ctx := s.t.Context()
	records, err := localstore.Beside(s.t, s.database).Records(ctx, s.source, "works", nil, 100_000)
	if err != nil {
		s.t.Fatal(err)
	}
	stored := map[string]view.Record{}
	for _, r := range records {
		stored[strings.ToLower(r.ID)] = r
	}
	for truth := range s.data.Heads() {
		if got, ok := stored[strings.ToLower(truth.DOI)]; !ok || !got.UpdatedAt.Equal(truth.Indexed) || got.Version != 1 {
			s.t.Errorf("lost or altered: %s, stored as version %d of %v", truth.DOI, got.Version, got.UpdatedAt)
		}
	}
	counts, err := app.Records.CountTotals(ctx, s.source)
	if err != nil {
		s.t.Fatal(err)
	}
	if n := int64(s.data.Len()); counts.Records != n || counts.Outbox != n || counts.Quarantined != 0 {
		s.t.Errorf("%+v for %d works: not one event each", counts, n)
	}
	cursors, err := app.Cursors.List(ctx, s.source)
	if err != nil || len(cursors) != 1 {
		s.t.Fatalf("%d cursors, %v", len(cursors), err)
	}
	if want := s.now.Add(-s.lag); !cursors[0].Instant.Equal(want) {
		s.t.Errorf("the cursor is at %v, want %v", cursors[0].Instant, want)
	}
	for _, b := range s.batches() {
		if b.Raw == "" {
			continue
		}
		if _, err := app.Bodies.Read(ctx, b.Raw); err != nil {
			s.t.Errorf("batch %d refers to a body that is not there: %v", b.ID, err)
		}
	}
}

func (s *subject) ended(tasks []view.Task, err error) {
	s.t.Helper()
	if err != nil || len(tasks) == 0 {
		s.t.Fatalf("%d tasks, %v", len(tasks), err)
	}
	for _, task := range tasks {
		if task.Status != "SUCCEEDED" {
			s.t.Errorf("task %d is %s", task.ID, task.Status)
		}
	}
}

// refetched expects that so many answers were asked for twice, where pages can be
// replayed.
func (s *subject) refetched(want int) {
	s.t.Helper()
	if got := s.server.Requests() - s.requests; s.requests > 0 && got != want {
		s.t.Errorf("%d requests, %d without a crash: %d fetched again, want %d", s.server.Requests(), s.requests, got, want)
	}
}
