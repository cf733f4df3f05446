package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/upsim"
)

// An upstream that nobody ever reached is tried a few times, whatever the patience of
// the source, and the tries are told apart from requests.
func TestTrust12NobodyReachedEndsSoon(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 7, PerDay: 3, Flat: true}, upsim.Options{})
		w.at(closedPort)
		w.settings = append(w.settings, "retry.maxAttempts=6", "slicing.step=P1D")
		args := []string{"harvest", "crossref", "--from", weekFrom.Format(time.RFC3339), "--now", w.now.Format(time.RFC3339), "--workers", "2", "-v"}
		for _, s := range w.settings {
			args = append(args, "--set", s)
		}
		code, out, errText := w.built(args...)
		if n := strings.Count(errText, `msg="try failed"`); code != 7 || n < 4 || n > 10 {
			t.Errorf("exit %d after %d tries\n%s%s", code, n, out, errText)
		}
		if !strings.Contains(out, "requests   0, ") || !strings.Contains(out, "tries did not reach the upstream, so nothing was sent") {
			t.Errorf("the tries are not told:\n%s", out)
		}
	})
}

// A dry run that waits for counts says so.
func TestTrust12ADryRunSaysWhatItWaitsFor(t *testing.T) {
	w := newWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "patra.db"), upsim.Config{Seed: 7, PerDay: 3, Flat: true}, upsim.Options{})
	heard := make(chan struct{})
	var failed atomic.Bool
	up := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if failed.Swap(true) {
			select {
			case <-heard:
			case <-r.Context().Done(): // it ended without a word
			}
		}
		http.Error(rw, "we are closed", http.StatusServiceUnavailable)
	}))
	t.Cleanup(up.Close)
	w.at(up.URL)
	args := []string{"plan", "crossref", "--dry-run", "--from", "2025-03-05", "--to", "2025-03-06", "--now", w.now.Format(time.RFC3339), "--db", w.database}
	for _, s := range append(w.settings, "slicing.maxPages=10", "retry.maxAttempts=2") {
		args = append(args, "--set", s)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	said := &listening{want: "is asked how much there is to read; 1 try failed, the last with SERVER_ERROR (HTTP 503)", heard: heard}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	select {
	case <-heard:
	case <-ended:
		t.Fatalf("it ended without a word: %s", said)
	}
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != 0 || !strings.Contains(said.String(), "--offline plans without counts") {
		t.Errorf("exit %d\n%s", code, said)
	}
}
