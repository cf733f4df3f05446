package daemon

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/trigger"
)

// updates plans ticks of the updates of a source that is asked by id.
type updates struct {
	*station
	job trigger.Job
}

func openUpdates(t *testing.T) *updates {
	t.Helper()
	s := openStation(t, filepath.Join(t.TempDir(), "patra.db"))
	src, err := Bundled("pubmed")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.app.store.ApplySource(t.Context(), src, registry.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	of := ingest.Partition{Dataset: ingest.Dataset{Source: "pubmed", Endpoint: startingEndpoints(src, ingest.Update)[0]}, Operation: ingest.Update}
	return &updates{s, trigger.Job{Partition: of}}
}

func (u *updates) signal(ids ...string) {
	u.Helper()
	var named []ingest.NewSignal
	for _, id := range ids {
		named = append(named, ingest.NewSignal{ID: id})
	}
	if _, err := u.app.store.AddSignals(u.Context(), u.job.Partition.Dataset, refresh.Retraction, named, ingest.Act{Actor: "test"}); err != nil {
		u.Fatal(err)
	}
}

// tick plans one and tells which watermarks have plans since, and how it is summed up.
func (u *updates) tick(key string) (fields, summary string) {
	u.Helper()
	now, err := u.app.store.Now(u.Context())
	if err != nil {
		u.Fatal(err)
	}
	out, err := schedules{u.app, map[string]string{}}.Plan(u.Context(), u.job, trigger.Tick{Key: key, At: now, Now: now})
	if err != nil || out.Refused != "" {
		u.Fatalf("%+v, %v", out, err)
	}
	plans, err := u.app.store.Plans(u.Context(), view.Filter{Limit: 20})
	if err != nil {
		u.Fatal(err)
	}
	var names []string
	for _, p := range plans {
		one, err := u.app.store.Plan(u.Context(), p.ID)
		if err != nil {
			u.Fatal(err)
		}
		c, err := u.app.store.Cursor(u.Context(), one.CursorID)
		if err != nil {
			u.Fatal(err)
		}
		names = append([]string{c.Key}, names...)
	}
	return strings.Join(names, " "), out.Summary
}

// A schedule of updates looks at what was named, besides the turns that have come.
func TestScheduledUpdateFollowsSignals(t *testing.T) {
	u := openUpdates(t)
	if fields, summary := u.tick("one"); fields != "refresh_checked_at" || strings.Contains(summary, "signals") {
		t.Errorf("nothing was named: %q, %s", fields, summary)
	}
	u.signal("11", "12", "13")
	const both = "refresh_checked_at signal_id refresh_checked_at"
	if fields, summary := u.tick("two"); fields != both || !strings.Contains(summary, "signals: 1 slice of ids") {
		t.Errorf("%q, %s", fields, summary)
	}
	if fields, _ := u.tick("two"); fields != both {
		t.Errorf("a tick that is repeated planned %q", fields)
	}
	// Unless its plans have ended, no further tick comes.
	if plan, err := (schedules{app: u.app}).Unfinished(t.Context(), u.job); plan == 0 || err != nil {
		t.Errorf("plan %d, %v", plan, err)
	}
	if _, err := sqlExec(u.file, "UPDATE ing_signal SET status_code = 'DONE', closed_at = 1"); err != nil {
		t.Fatal(err)
	}
	if fields, summary := u.tick("three"); fields != both+" refresh_checked_at" || strings.Contains(summary, "signals") {
		t.Errorf("all are closed: %q, %s", fields, summary)
	}
}
