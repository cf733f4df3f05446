package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/upsim"
)

// newTwin is a world with a second source, called twin, that reads the same upstream.
// Both are harvested.
func newTwin(t *testing.T, database string) *world {
	t.Helper()
	w := newWorld(t, database, upsim.Config{Seed: 9, PerDay: 20, Flat: true}, upsim.Options{})
	text := strings.Replace(w.must("source", "export", "crossref"), "source: crossref", "source: twin", 1)
	file := filepath.Join(t.TempDir(), "twin.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.must("source", "apply", file, "--reason", "test")
	w.harvest(0)
	args := w.harvestArgs()
	args[1] = "twin"
	w.must(args...)
	return w
}

// showsBoth is a status that ends well or with findings, and hides no source.
func (w *world) showsBoth(args ...string) {
	w.t.Helper()
	code, out, errText := w.patra(append([]string{"status"}, args...)...)
	if code != 0 && code != 9 || !strings.Contains(out, "crossref/works") || !strings.Contains(out, "twin/works") {
		w.t.Errorf("patra status: exit %d\n%s%s", code, out, errText)
	}
}

// An empty range is an empty answer: a watermark that was set back, or has no value,
// neither ends a command nor hides another source.
func TestTrust09EmptyRangeIsAnEmptyAnswer(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newTwin(t, database)
		id := fmt.Sprint(w.cursorsOf(ingest.Harvest)[0].ID)
		w.must("cursor", "set", id, "--to", "2025-03-04", "--reason", "read again", "--yes")
		w.showsBoth()
		for _, c := range []struct{ command, says string }{
			{"gaps", "crossref/works: nothing from 2025-03-04 on was asked for yet: `patra harvest crossref` reads it"},
			{"fill", "there is nothing to fill"},
			{"reconcile", "crossref/works: nothing from 2025-03-04 on was asked for yet"},
		} {
			if code, out, errText := w.patra("coverage", c.command, "crossref"); code != 0 || !strings.Contains(errText, c.says) {
				t.Errorf("coverage %s: exit %d\n%s%s", c.command, code, out, errText)
			}
		}
		if code, out, errText := w.patra("coverage", "gaps", "twin"); code != 0 || !strings.Contains(out, "no gaps in ") {
			t.Errorf("the other source: exit %d\n%s%s", code, out, errText)
		}
		w.must("cursor", "reset", id, "--reason", "as on the first day", "--yes")
		w.showsBoth()
		if code, out, errText := w.patra("coverage", "gaps", "crossref"); code != 0 || !strings.Contains(errText, "its watermark has no value") {
			t.Errorf("without a value: exit %d\n%s%s", code, out, errText)
		}
		// A range that somebody names and that has nothing in it is a slip, never "no gaps".
		if code, out, _ := w.patra("coverage", "gaps", "twin", "--from", "2999-01-01"); code != 2 || strings.Contains(out, "no gaps") {
			t.Errorf("the time to come: exit %d\n%s", code, out)
		}
		// The harvest takes it from there.
		w.now = w.now.Add(time.Minute)
		w.harvest(0)
		w.showsBoth()
		w.verify()
	})
}
