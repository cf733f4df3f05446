package daemon

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/core/view"
)

func TestParseRoles(t *testing.T) {
	for text, want := range map[string]string{
		"planner": "planner", "executor": "executor", "planner,executor": "executor,planner", " executor, planner,executor": "executor,planner", "planner,api": "api,planner",
	} {
		if got, err := ParseRoles(text); err != nil || joinRoles(got) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": `unknown role ""`, "planer": `unknown role "planer": use planner`,
	} {
		if _, err := ParseRoles(text); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// station is a process that plans by schedule, on a bubble's clock.
type station struct {
	*testing.T
	app  *App
	file string
	mu   sync.Mutex
	log  bytes.Buffer
	stop context.CancelFunc
	done chan error
}

func (s *station) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(line)
}

func openStation(t *testing.T, file string) *station {
	t.Helper()
	s := &station{T: t, file: file, done: make(chan error, 1)}
	app, err := Open(t.Context(), Config{Database: "sqlite:" + file, Relaxed: true, Log: slog.New(slog.NewTextHandler(s, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { app.Close() }) // of a test that failed
	app.Planner.Estimator = nil       // there is no network in a bubble
	s.app = app
	return s
}

func (s *station) serve() {
	ctx, stop := context.WithCancel(s.Context())
	s.stop = stop
	s.Cleanup(stop)
	go func() { s.done <- s.app.Serve(ctx, []Role{RolePlanner}) }()
}

func (s *station) close() {
	s.Helper()
	s.stop()
	if err := <-s.done; !errors.Is(err, context.Canceled) {
		s.Errorf("served until %v", err)
	}
	if err := s.app.Close(); err != nil {
		s.Error(err)
	}
}

func (s *station) pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

func (s *station) apply(change func(*registry.Source)) {
	s.Helper()
	src, err := Bundled("crossref")
	if err != nil {
		s.Fatal(err)
	}
	change(src)
	if _, err := s.app.store.ApplySource(s.Context(), src, registry.ApplyOptions{}); err != nil {
		s.Fatal(err)
	}
}

// triggers are operation, tick and remark of every row, in order.
func (s *station) triggers() (out []string) {
	s.Helper()
	db, err := sql.Open("sqlite", "file:"+s.file+"?_pragma=busy_timeout(60000)")
	if err != nil {
		s.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(s.Context(), `SELECT json_extract(trigger_params, '$.operation') || ' ' || substr(json_extract(trigger_params, '$.tick'), 12, 5)
  || ' ' || COALESCE(json_extract(record_remarks, '$.refused'), 'plan ' || (SELECT MIN(id) FROM ing_plan WHERE schedule_instance_id = s.id)) FROM ing_schedule_instance s ORDER BY id`)
	if err != nil {
		s.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			s.Fatal(err)
		}
		out = append(out, line)
	}
	return out
}

func (s *station) has(want ...string) {
	s.Helper()
	got := s.triggers()
	if len(got) != len(want) {
		s.Fatalf("triggers %q, want %q\n%s", got, want, s.log.String())
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			s.Errorf("trigger %q, want %q", got[i], want[i])
		}
	}
}

func every(d time.Duration) *schedule.Config {
	return &schedule.Config{Every: duration.Duration(d)}
}

// forgetDates takes all dates of an item from a source: then no harvest of it can be planned.
func forgetDates(src *registry.Source) {
	src.Response.UpdatedAt = extract.Selector{}
	for _, endpoint := range src.Endpoints {
		endpoint.Response.Filtered = extract.Selector{}
	}
}

// A schedule of the source harvests, and only that; what cannot be planned leaves
// its reason; another process goes on where the first one stopped.
func TestServePlansBySchedule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "patra.db")
	synctest.Test(t, func(t *testing.T) {
		first := openStation(t, file)
		first.pass(time.Hour) // so that there is a day to read
		first.serve()
		first.pass(time.Minute)
		first.apply(func(src *registry.Source) {
			src.Schedule = every(10 * time.Minute)
			src.Operations = map[string]registry.Sections{"UPDATE": {Schedule: every(20 * time.Minute)}}
		})
		first.pass(24 * time.Minute)
		first.has("HARVEST 01:10 plan 1", "UPDATE 01:20 plan 2")
		plans, err := first.app.store.Plans(t.Context(), view.Filter{Limit: 9})
		if err != nil || len(plans) != 2 || plans[0].Status != "READY" || plans[1].Status != "READY" {
			t.Fatalf("%+v, %v", plans, err)
		}
		first.close()

		second := openStation(t, file)
		second.apply(func(src *registry.Source) { // the open plan keeps its snapshot; the next one cannot be made
			src.Schedule = every(10 * time.Minute)
			forgetDates(src)
		})
		if _, err := sqlExec(file, "UPDATE ing_plan SET status_code = 'COMPLETED'"); err != nil {
			t.Fatal(err)
		}
		second.serve()
		second.pass(10 * time.Minute)
		second.has("HARVEST 01:10 plan 1", "UPDATE 01:20", "HARVEST 01:20 ", "HARVEST 01:30 ")
		if got := second.triggers()[3]; !strings.Contains(got, "E-UPDATED-AT") {
			t.Errorf("reason %s", got)
		}
		second.close()
	})
}

func sqlExec(file, query string) (sql.Result, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(60000)")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return db.Exec(query)
}

func TestJobsOf(t *testing.T) {
	names := func(change func(*registry.Source)) string {
		src, err := Bundled("crossref")
		if err != nil {
			t.Fatal(err)
		}
		change(src)
		jobs, err := (&knownSource{src: src, resolved: map[compiledKey]*registry.Resolved{}}).jobs()
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, j := range jobs {
			out = append(out, j.Schedule.Name+" "+j.Schedule.Config.String())
		}
		return strings.Join(out, ", ")
	}
	hour, off := every(time.Hour), false
	atOperation := func(op string, c *schedule.Config) map[string]registry.Sections {
		return map[string]registry.Sections{op: {Schedule: c}}
	}
	works := func(src *registry.Source, change func(*registry.Endpoint)) {
		e := src.Endpoints["works"]
		change(&e)
		src.Endpoints["works"] = e
	}
	for name, c := range map[string]struct {
		change func(*registry.Source)
		want   string
	}{
		"none":            {func(*registry.Source) {}, ""},
		"of the source":   {func(s *registry.Source) { s.Schedule = hour }, "crossref/works/HARVEST every PT1H"},
		"of the endpoint": {func(s *registry.Source) { works(s, func(e *registry.Endpoint) { e.Schedule = hour }) }, "crossref/works/HARVEST every PT1H"},
		"of an operation": {func(s *registry.Source) { s.Operations = atOperation("BACKFILL", hour) }, "crossref/works/BACKFILL every PT1H"},
		"of the narrowest": {func(s *registry.Source) {
			s.Schedule = every(2 * time.Hour)
			works(s, func(e *registry.Endpoint) { e.Operations = atOperation("HARVEST", hour) })
		}, "crossref/works/HARVEST every PT1H"},
		"switched off": {func(s *registry.Source) {
			s.Schedule = hour
			works(s, func(e *registry.Endpoint) { e.Operations = atOperation("HARVEST", &schedule.Config{Enabled: &off}) })
		}, ""},
		"not of a detail endpoint": {func(s *registry.Source) {
			s.Operations = atOperation("UPDATE", hour)
			works(s, func(e *registry.Endpoint) { e.Role = "DETAIL" })
		}, ""},
		"wrong": {func(s *registry.Source) { s.Schedule = &schedule.Config{Cron: "nonsense"} },
			`schedule crossref/works/HARVEST: cron "NONSENSE": E-SCHEDULE: has 1 fields`},
	} {
		if got := names(c.change); got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A duty that fails ends the others and is what Serve reports.
func TestServeEndsWithTheFirstFailure(t *testing.T) {
	app, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db")})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Close(); err != nil { // so that the executor finds no database
		t.Fatal(err)
	}
	if err := app.Serve(t.Context(), []Role{RolePlanner, RoleExecutor}); err == nil || !strings.HasPrefix(err.Error(), "executor: ") {
		t.Errorf("%v", err)
	}
}
