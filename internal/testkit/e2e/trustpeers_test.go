package e2e

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/upsim"
)

// held lets a request through once it is opened; the first one of a day waits.
type held struct {
	day    string
	first  atomic.Bool
	caught chan struct{} // the first request for the day came
	again  chan struct{} // and another one
	once   sync.Once
	next   http.Handler
}

func (h *held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.FormValue("filter"), "from-index-date:"+h.day) {
		if h.first.CompareAndSwap(false, true) {
			close(h.caught)
			<-r.Context().Done() // until whoever asked is dead
			return
		}
		h.once.Do(func() { close(h.again) })
	}
	h.next.ServeHTTP(w, r)
}

// served is a process that works on tasks, and its log line by line.
func (w *world) served(more ...string) (*exec.Cmd, *bufio.Scanner) {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"serve", "--roles", "executor", "--lease", "10m", "--no-raw", "--db", w.database}, more...)...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewScanner(log)
}

// says reads a log up to a line, and goes on reading so that nobody blocks.
func says(t *testing.T, log *bufio.Scanner, what string) {
	t.Helper()
	for log.Scan() {
		if strings.Contains(log.Text(), what) {
			go func() {
				for log.Scan() {
					_, _ = io.Discard.Write(log.Bytes())
				}
			}()
			return
		}
	}
	t.Errorf("the log ended without %q", what)
}

// A process that is killed holds a task for ten minutes. A peer that has been running
// on the same machine takes it over at once: this test ends long before the lease.
func TestTrust15APeerTakesOverAtOnce(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		came := newArrivals()
		w := newWorld(t, database, upsim.Config{Seed: 15, PerDay: 20, Flat: true}, upsim.Options{OnEntry: came.entry})
		inner, err := url.Parse(w.server.URL())
		if err != nil {
			t.Fatal(err)
		}
		front := &held{day: "2025-03-03", caught: make(chan struct{}), again: make(chan struct{}), next: httputil.NewSingleHostReverseProxy(inner)}
		web := httptest.NewServer(front)
		defer web.Close()
		w.set("http.baseUrl="+web.URL, "slicing.step=P1D", "http.timeout=PT2M", "retry.maxAttempts=1", "retry.taskAttempts=1")
		args := w.harvestArgs("--dry-run=false")
		args[0] = "plan"
		w.must(args...)

		first, _ := w.served("--workers", "1")
		<-front.caught
		peer, log := w.served("--workers", "1")
		says(t, log, "serving") // with SQLite it waits for its turn
		if !strings.HasPrefix(database, "sqlite:") {
			came.wait(1, nil) // it has begun: the other process is stuck
		}
		if err := first.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = first.Wait()
		<-front.again
		if _, err := w.open().Work(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		_ = peer.Process.Signal(syscall.SIGTERM)
		_ = peer.Wait()
		w.verify()
	})
}
