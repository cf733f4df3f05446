package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/upsim"
)

// tides is a world whose store has the test's clock, harvested by the hour.
type tides struct {
	*world
	app *daemon.App
	set []registry.Override
}

func newTides(t *testing.T, database string, more ...string) *tides {
	t.Helper()
	w := newWorld(t, database, upsim.Config{Seed: 51, PerDay: 60, Flat: true}, upsim.Options{})
	w.settings = append(w.settings, more...)
	s := &tides{world: w}
	for _, text := range w.settings {
		o, err := registry.ParseOverride(text)
		if err != nil {
			t.Fatal(err)
		}
		s.set = append(s.set, o)
	}
	app, err := daemon.Open(t.Context(), daemon.Config{Database: database, Workers: 2, Lease: time.Minute, Clock: func() time.Time { return w.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { app.Close() })
	s.app = app
	return s
}

// add puts n works with one stamp into the upstream.
func (s *tides) add(n int, at time.Time) {
	s.t.Helper()
	for range n {
		if _, err := s.data.Add("", at); err != nil {
			s.t.Fatal(err)
		}
	}
}

// harvest reads what there is.
func (s *tides) harvest(from *time.Time) daemon.Harvested {
	s.t.Helper()
	ctx := s.t.Context()
	c, err := s.app.Compile(ctx, "crossref", "", ingest.Harvest, s.set)
	if err != nil {
		s.t.Fatal(err)
	}
	h, err := s.app.Harvest(ctx, c, daemon.NewRequest(s.now, from, nil), daemon.Watch{})
	if err != nil {
		s.t.Fatal(err)
	}
	return h
}

// lagAndLate of a harvest.
func lagAndLate(h daemon.Harvested) string {
	return fmt.Sprint(h.Draft.Lag.Value, " ", h.Plan.Stats.Late)
}

// F40: works that appear behind the watermark push the lag up, plan by plan, and
// a week without them brings it back. Nothing is lost on the way.
func TestSafetyLagFollowsLateArrivals(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		s := newTides(t, database, "window.maxSafetyLag=PT38M", "window.lookback=P1D")
		var got []string
		hour := func(late int) {
			t.Helper()
			watermark := s.now.Add(-time.Hour) // at the most
			s.now = s.now.Add(time.Hour)
			s.add(late, watermark.Add(-3*time.Hour))
			s.add(150, s.now.Add(-50*time.Minute))
			got = append(got, lagAndLate(s.harvest(nil)))
		}
		first := weekFrom
		got = append(got, lagAndLate(s.harvest(&first)))
		for range 4 {
			hour(2)
		}
		hour(0)
		// The first harvest measures nothing, and after the second there are too few.
		if want := "PT30M 0, PT30M 2, PT30M 2, PT35M 2, PT38M 2, PT38M 0"; strings.Join(got, ", ") != want {
			t.Errorf("lag and late items %q, want %q", got, want)
		}
		args := append(s.harvestArgs("--dry-run"), "--offline")
		args[0] = "plan"
		args = append(args[:2], args[4:]...) // without --from
		for i, a := range args {
			if a == "-q" {
				args[i] = "-v=false"
			}
		}
		code, dry, hint := s.patra(args...)
		if _, again, _ := s.patra(args...); code != 0 || again != dry || !strings.Contains(dry, "8 of 7") ||
			!strings.Contains(hint, "the safety lag is PT38M instead of the declared PT30M: 8 of 7") {
			t.Errorf("exit %d, hint %q, plan %.600s", code, hint, dry)
		}
		s.now = s.now.Add(8 * 24 * time.Hour)
		got = nil
		for range 9 {
			hour(0)
		}
		if want := "PT37M 0, PT36M 0, PT35M 0, PT34M 0, PT33M 0, PT32M 0, PT31M 0, PT30M 0, PT30M 0"; strings.Join(got, ", ") != want {
			t.Errorf("after a quiet week %q, want %q", got, want)
		}
		s.verify()
	})
}

// A window that failed and is read later is owed, not late.
func TestOwedWindowsAreNotLate(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		s := newTides(t, database, "retry.maxAttempts=1", "retry.taskAttempts=1")
		first := weekFrom
		s.faults("503@6-7") // two, fewer than stop all requests until a time this clock never reaches
		failed, changed := s.harvest(&first), 0
		s.faultsOff()
		for range 3 { // past the wait of what failed
			s.now = s.now.Add(2 * time.Hour)
			h := s.harvest(nil)
			if lagAndLate(h) != "PT30M 0" {
				t.Errorf("lag and late items %s", lagAndLate(h))
			}
			changed += h.Plan.Stats.Inserted
		}
		if failed.Plan.Slices["FAILED"] == 0 || changed == 0 {
			t.Errorf("%v and then %d items: nothing was owed", failed.Plan.Slices, changed)
		}
		s.verify()
	})
}
