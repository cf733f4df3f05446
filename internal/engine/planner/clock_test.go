package planner

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// The clock of the database was a day ahead while a source was planned, and was set right.
// What lies between counts as wanted or read as of a time that has not come; once that has
// come nobody would look there again. So a harvest is refused until then, with what to do,
// instead of ending well with nothing to read (I2).
func TestAClockThatWasSetBackIsTold(t *testing.T) {
	now := noon
	path := filepath.Join(t.TempDir(), "patra.db")
	localstore.Place(t, path)
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Relaxed: true}, store.Options{Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	p, c := New(s), crossref(t)
	plan := func(at time.Time, trigger string) error {
		now = at
		r := ask(trigger)
		r.Now = at
		_, _, err := p.Plan(t.Context(), c, r)
		return err
	}
	ahead := noon.Add(24 * time.Hour)
	if err := plan(ahead, "a"); err != nil {
		t.Fatal(err)
	}
	now = noon
	r := ask("dry")
	r.Now = noon
	if _, err := p.Draft(t.Context(), c, r); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("a draft says that all is well: %v", err)
	}
	r.Now = ahead.Add(time.Hour)
	if _, err := p.Draft(t.Context(), c, r); err != nil {
		t.Errorf("a draft that looks ahead: %v", err)
	}
	err = plan(noon, "b")
	if !errors.Is(err, fault.ErrInvalid) {
		t.Fatalf("a harvest behind what was read: %v", err)
	}
	for _, want := range []string{"the database's clock says 2025-03-20T12:00:00Z", "crossref", "as of 2025-03-21T", "`patra cursor set 1 --to 2025-03-", " --reason clock-was-ahead --yes`"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	if err := plan(ahead.Add(-c.Snapshot.Window.SafetyLag.Std()-time.Second), "c"); err != nil {
		t.Errorf("a clock that is corrected by a second: %v", err)
	}
	if err := plan(ahead.Add(time.Hour), "d"); err != nil {
		t.Errorf("the time has come: %v", err)
	}
}
