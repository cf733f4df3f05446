package e2e

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// kill -9 in the middle of a harvest that reads shelf by shelf, again and again: no window counts while a shelf of it is
// missing, and in the end everything is stored and the watermark stands at the end.
func TestKilledPartitionsLoseNothing(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		killShelves(t, database, rand.New(rand.NewPCG(seed, 115)))
	})
}

func killShelves(t *testing.T, database string, random *rand.Rand) {
	f, came := simulated.Shelves(), newArrivals()
	w := newWorld(t, database, upsim.Config{Seed: 64, PerDay: 60, Flat: true}, upsim.Options{OnEntry: came.entry, LogLimit: 100_000})
	file := filepath.Join(t.TempDir(), f.Name+".yaml")
	if err := os.WriteFile(file, []byte(f.YAML(w.server.URL())), 0o600); err != nil {
		t.Fatal(err)
	}
	w.must("source", "apply", file)
	w.settings = nil
	from := weekTo.AddDate(0, 0, -3)
	args := w.harvestArgs("--workers", "2", "--lease", "2s")
	args[1], args[3] = "form-"+f.Name, from.Format(time.RFC3339)
	s := subject{world: w, source: "form-" + f.Name}
	done := 0
	for range 5 {
		cmd, output := w.child(args...)
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		if !came.wait(3+random.IntN(8), ended) {
			t.Logf("harvest ended after %d kills: %s", done, output)
			break
		}
		_ = cmd.Process.Kill()
		<-ended
		done++
		s.sane()
		w.storedBelowWatermark(s.source, from)
	}
	if done < 2 {
		t.Fatalf("only %d kills hit a running harvest", done)
	}
	w.must(args...)
	s.sane()
	at := w.storedBelowWatermark(s.source, from)
	if until := w.now.Add(-10 * time.Minute); !at.Equal(until) {
		t.Errorf("the watermark stands at %s, want %s", at, until)
	}
}

// storedBelowWatermark expects every work between an instant and the watermark to be stored, and returns the watermark.
func (w *world) storedBelowWatermark(source string, from time.Time) (at time.Time) {
	w.t.Helper()
	cursors, err := w.open().Cursors.List(w.t.Context(), source)
	if err != nil || len(cursors) > 1 {
		w.t.Fatalf("%+v, %v", cursors, err)
	}
	if len(cursors) == 0 {
		return at
	}
	at = cursors[0].Instant
	records, err := localstore.Beside(w.t, w.database).Records(w.t.Context(), source, simulated.Endpoint, nil, 100_000)
	if err != nil {
		w.t.Fatal(err)
	}
	stored := map[string]view.Record{}
	for _, r := range records {
		stored[r.ID] = r
	}
	for truth := range w.data.Heads() {
		if inside := !truth.Indexed.Before(from) && truth.Indexed.Before(at); inside && !stored[truth.DOI].UpdatedAt.Equal(truth.Indexed) {
			w.t.Errorf("claimed up to %s and lost: %s of %s", at, truth.DOI, truth.Indexed)
		}
	}
	return at
}
