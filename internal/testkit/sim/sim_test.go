package sim

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A few seeds, shorter than an hour.
func TestHarvestSurvivesAnything(t *testing.T) {
	for _, seed := range seeds(t, 1, 3) {
		survive(t, seed, size{processes: 10, sources: 3, span: 12 * time.Minute})
	}
}

// The same on a server: one seed, shorter still.
func TestHarvestSurvivesAnythingOnServer(t *testing.T) {
	for _, seed := range seeds(t, 4, 4) {
		surviveOnServer(t, seed, size{processes: 6, sources: 1, span: 8 * time.Minute})
	}
}

// Ten workers for an hour, with many seeds.
func TestProofHourOfFaults(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	for _, seed := range seeds(t, 1000, 1039) {
		survive(t, seed, size{processes: 10, sources: 5, span: time.Hour})
	}
}

// The same on a server, with a few seeds: there an hour takes several times as long.
func TestProofHourOfFaultsOnServer(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	for _, seed := range seeds(t, 2000, 2003) {
		surviveOnServer(t, seed, size{processes: 10, sources: 3, span: 30 * time.Minute})
	}
}

// seeds are those from first to last, unless others are asked for.
func seeds(t *testing.T, first, last uint64) (out []uint64) {
	t.Helper()
	if text := os.Getenv("PATRA_SIM_SEEDS"); text != "" {
		if n, err := fmt.Sscanf(text, "%d-%d", &first, &last); n == 1 {
			last = first
		} else if err != nil {
			t.Fatalf("PATRA_SIM_SEEDS=%s: %v; write 7 or 7-20", text, err)
		}
	}
	for seed := first; seed <= last; seed++ {
		out = append(out, seed)
	}
	return out
}

// survive plays a seed in a file and holds what is stored against the truth.
func survive(t *testing.T, seed uint64, s size) {
	t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
		at := inFile(t)
		if dir := os.Getenv("PATRA_SIM_DIR"); dir != "" {
			file := filepath.Join(dir, fmt.Sprintf("seed%d-%d.db", seed, time.Now().UnixNano()))
			at = storage{database: "sqlite:" + file, folder: file + ".files"}
			defer func() {
				for _, part := range []string{"", "-wal", "-shm"} {
					if !t.Failed() {
						_ = os.Remove(file + part) // not all of them need be there
					}
				}
			}()
		}
		surviveAt(t, at, seed, s)
	})
}

// surviveOnServer does so on a server.
func surviveOnServer(t *testing.T, seed uint64, s size) {
	t.Run(fmt.Sprint("seed", seed), func(t *testing.T) { surviveAt(t, onServer(t), seed, s) })
}

func surviveAt(t *testing.T, at storage, seed uint64, s size) {
	t.Helper()
	began := time.Now()
	w := run(t, seed, s, at)
	w.verify()
	t.Logf("%s in %s: %s", w.names(), time.Since(began).Round(time.Millisecond), w.counted())
	if name, _, _ := strings.Cut(t.Name(), "/"); t.Failed() {
		t.Logf("to see it again: %sPATRA_SIM_SEEDS=%d go test -run '^%s$' ./internal/testkit/sim", given("PATRA_PROOF"), seed, name)
	}
}

// given is a setting that was made, as a command line has it.
func given(name string) string {
	if value := os.Getenv(name); value != "" {
		return name + "=" + value + " "
	}
	return ""
}

func (w *world) names() string {
	var out []string
	for _, u := range w.upstreams {
		out = append(out, u.name)
	}
	return strings.Join(out, ", ")
}

func (w *world) counted() string {
	var out []string
	for _, what := range slices.Sorted(maps.Keys(w.tally)) {
		out = append(out, fmt.Sprintf("%d %s", w.tally[what], what))
	}
	return strings.Join(out, ", ")
}
