package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// kill -9 in the middle of a reading of a list without dates, again and again: everything is
// stored once, the list is known as of the reading, and the next one finds all unchanged.
func TestKilledWholeListIsReadWhole(t *testing.T) {
	onEveryWholeList(t, func(s *subject, kill func()) {
		kill()
		if first := s.readWhole(); first.Gone > 0 {
			s.t.Errorf("gone in the first reading: %+v", first)
		}
		s.whole()
		s.now = s.now.Add(25 * time.Hour)
		if again := s.readWhole(); again.Unchanged < s.data.Len() || again.Inserted+again.Updated+again.Gone+again.Quarantined > 0 {
			s.t.Errorf("the second harvest is not all unchanged: %+v of %d works", again, s.data.Len())
		}
		s.whole()
	})
}

// An upstream that announces more than it holds never counts as read, however often it is
// read and killed; when it tells the truth, it does.
func TestKilledListThatLacksItemsNeverCounts(t *testing.T) {
	onEveryWholeList(t, func(s *subject, kill func()) {
		s.settings = []string{"retry.taskAttempts=1"} // nobody waits to try again
		s.faults(fmt.Sprintf("total-wrong@*:total=%d", s.data.Len()+1))
		kill()
		for range 2 {
			if code, out, _ := s.patra(s.wholeArgs()...); code == 0 {
				s.t.Fatalf("a list that lacks an item was harvested:\n%s", out)
			}
			s.sane()
			s.neverRead()
			s.now = s.now.Add(25 * time.Hour)
		}
		s.faults("")
		s.readWhole()
		s.allOnce()
	})
}

// onEveryWholeList tries something with a list without dates of each form on every database.
// kill kills harvests in the middle.
func onEveryWholeList(t *testing.T, try func(s *subject, kill func())) {
	for _, f := range simulated.Whole() {
		t.Run(f.Name, func(t *testing.T) {
			onEveryDatabase(t, func(t *testing.T, database string) {
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				came := newArrivals()
				s := startWhole(t, database, f, came)
				try(s, func() {
					if done := s.killReading(came, rand.New(rand.NewPCG(seed, 108))); done < 2 {
						t.Fatalf("only %d kills hit a running harvest", done)
					}
				})
			})
		})
	}
}

func startWhole(t *testing.T, database string, f simulated.Form, came *arrivals) *subject {
	t.Helper()
	w := newWorld(t, database, upsim.Config{Seed: 63, PerDay: 50, Flat: true}, upsim.Options{OnEntry: came.entry, LogLimit: 100_000})
	w.settings = nil
	file := filepath.Join(t.TempDir(), f.Name+".yaml")
	if err := os.WriteFile(file, []byte(f.YAML(w.server.URL())), 0o600); err != nil {
		t.Fatal(err)
	}
	w.must("source", "apply", file)
	return &subject{world: w, source: "form-" + f.Name}
}

// wholeArgs name no window: the list has no dates.
func (s *subject) wholeArgs() []string {
	args := []string{"harvest", s.source, "--now", s.now.Format(time.RFC3339), "-o", "json", "-q", "--workers", "1", "--lease", "2s"}
	for _, set := range s.settings {
		args = append(args, "--set", set)
	}
	return args
}

// killReading kills up to four harvests after some pages, and tells how many.
func (s *subject) killReading(came *arrivals, random *rand.Rand) (done int) {
	s.t.Helper()
	for range 4 {
		cmd, output := s.child(s.wholeArgs()...)
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		if !came.wait(3+random.IntN(5), ended) {
			s.t.Logf("harvest ended after %d kills: %s", done, output)
			return done
		}
		_ = cmd.Process.Kill()
		<-ended
		done++
		s.sane()
		s.neverRead()
	}
	return done
}

// neverRead expects that nothing says the list is known.
func (s *subject) neverRead() {
	s.t.Helper()
	cursors, err := s.open().Cursors.List(s.t.Context(), s.source)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range cursors {
		if c.Instant.After(weekTo) { // every reading is later, and where the list begins to be owed lies before
			s.t.Errorf("the list counts as known at %s, and nobody read it to its end", c.Instant)
		}
	}
	if out := s.must("coverage", "readings", s.source+"/"+simulated.Endpoint); strings.Contains(out, "COMPLETE") {
		s.t.Errorf("a reading is complete:\n%s", out)
	}
}

// readWhole harvests the list to its end.
func (s *subject) readWhole() ingest.BatchStats {
	s.t.Helper()
	out := s.must(s.wholeArgs()...)
	var told struct {
		Stats ingest.BatchStats
	}
	if err := json.Unmarshal([]byte(out), &told); err != nil {
		s.t.Fatalf("%v:\n%s", err, out)
	}
	return told.Stats
}
