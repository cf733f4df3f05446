package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// kill -9 in the middle of a feed, again and again, while works come in at its front,
// change and vanish: nothing of the window is lost, the rest of the list is not read, and
// the cursor is the refold of its ledger after every crash.
func TestKilledFeedLosesNothing(t *testing.T) {
	for _, f := range simulated.Feeds() {
		if f.Name != "feed" && f.Name != "feed-offset" { // the others die in the same places
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			onEveryDatabase(t, func(t *testing.T, database string) {
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				killFeed(t, database, f, rand.New(rand.NewPCG(seed, 98)))
			})
		})
	}
}

func killFeed(t *testing.T, database string, f simulated.Form, random *rand.Rand) {
	came := newArrivals()
	w := newWorld(t, database, upsim.Config{Seed: 62, PerDay: 60, Flat: true}, upsim.Options{OnEntry: came.entry, LogLimit: 100_000})
	file := filepath.Join(t.TempDir(), f.Name+".yaml")
	if err := os.WriteFile(file, []byte(f.YAML(w.server.URL())), 0o600); err != nil {
		t.Fatal(err)
	}
	w.must("source", "apply", file)
	w.settings = []string{"window.lookback=PT2H"}
	from := weekTo.AddDate(0, 0, -2)
	args := w.harvestArgs("--workers", "1", "--lease", "2s")
	args[1], args[3] = "form-"+f.Name, from.Format(time.RFC3339)
	done := 0
	for range 4 {
		cmd, output := w.child(args...)
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		if !came.wait(3+random.IntN(5), ended) {
			t.Logf("harvest ended after %d kills: %s", done, output)
			break
		}
		_ = cmd.Process.Kill()
		<-ended
		done++
		w.disturbFeed(random, done)
		w.must("cursor", "verify")
	}
	if done < 2 {
		t.Fatalf("only %d kills hit a running harvest", done)
	}
	w.must(args...)
	w.finishedFeed(f, from)
}

// disturbFeed lets works appear, change and vanish. What changes leaves the window.
func (w *world) disturbFeed(random *rand.Rand, round int) {
	w.t.Helper()
	later := w.now.Add(time.Duration(round) * time.Minute)
	var ids []string
	for truth := range w.data.Heads() {
		ids = append(ids, truth.DOI)
	}
	if err := w.data.Remove(ids[random.IntN(len(ids))]); err != nil {
		w.t.Fatal(err)
	}
	for range 3 {
		if _, err := w.data.Add("", later); err != nil {
			w.t.Fatal(err)
		}
		_ = w.data.Touch(ids[random.IntN(len(ids))], later, true) // it may have been removed
	}
}

// finishedFeed expects everything of the window, no gap, and a walk that ended before the
// end of the list.
func (w *world) finishedFeed(f simulated.Form, from time.Time) {
	w.t.Helper()
	s := subject{world: w, source: "form-" + f.Name}
	s.sane()
	records, err := localstore.Beside(w.t, w.database).Records(w.t.Context(), s.source, simulated.Endpoint, nil, 100_000)
	if err != nil {
		w.t.Fatal(err)
	}
	stored := map[string]view.Record{}
	for _, r := range records {
		stored[r.ID] = r
	}
	until := w.now.Add(-10 * time.Minute)
	for truth := range w.data.Heads() {
		if inside := !truth.Indexed.Before(from) && truth.Indexed.Before(until); inside && !stored[truth.DOI].UpdatedAt.Equal(truth.Indexed) {
			w.t.Errorf("lost: %s of %s", truth.DOI, truth.Indexed)
		}
	}
	app := w.open()
	cursors, err := app.Cursors.List(w.t.Context(), s.source)
	if err != nil || len(cursors) != 1 || !cursors[0].Instant.Equal(until) {
		w.t.Fatalf("the cursor is not at %s: %+v, %v", until, cursors, err)
	}
	runs, err := app.Tasks.ListRuns(w.t.Context(), view.Filter{Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	var story strings.Builder
	for _, r := range runs {
		story.WriteString(w.must("run", "show", fmt.Sprint(r.ID), "--limit", "1000"))
	}
	text := strings.Join(strings.Fields(story.String()), " ") // lines are broken anywhere
	if !strings.Contains(text, "in a list that was seen to be sorted") || strings.Contains(text, "the whole list is read") {
		w.t.Errorf("no walk ended behind the window, or one was taken for unsorted:\n%s", &story)
	}
}
