package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/upsim"
)

// child starts the program as a process of its own.
func (w *world) child(args ...string) (*exec.Cmd, *bytes.Buffer) {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(self, append(args, "--db", w.database)...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return cmd, &output
}

// arrivals counts the simulator's requests and lets a test wait for the n-th.
type arrivals struct {
	mu    sync.Mutex
	n     int
	heard chan struct{}
}

func newArrivals() *arrivals { return &arrivals{heard: make(chan struct{})} }

func (a *arrivals) entry(upsim.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
	close(a.heard)
	a.heard = make(chan struct{})
}

// wait blocks until n more requests came in, or the process ended by itself.
func (a *arrivals) wait(n int, ended <-chan struct{}) (alive bool) {
	a.mu.Lock()
	target := a.n + n
	a.mu.Unlock()
	for {
		a.mu.Lock()
		reached, heard := a.n >= target, a.heard
		a.mu.Unlock()
		if reached {
			return true
		}
		select {
		case <-heard:
		case <-ended:
			return false
		}
	}
}

const kills = 10

// kill -9 at ten random moments: nothing lost, nothing doubled, the cursor is
// the refold of its ledger after every crash.
func TestKilledHarvestLosesNothing(t *testing.T) {
	for name, mode := range map[string]upsim.CursorMode{"scroll": upsim.ScrollCursor, "replayable": upsim.ReplayableCursor} {
		t.Run(name, func(t *testing.T) {
			onEveryDatabase(t, func(t *testing.T, database string) {
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				killRepeatedly(t, database, mode, rand.New(rand.NewPCG(seed, 1)))
			})
		})
	}
}

// The same at full size, for `make proof`: hundreds of kills with other seeds.
func TestProofManyKills(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	const rounds = 25
	for round := range uint64(rounds) {
		for name, mode := range map[string]upsim.CursorMode{"scroll": upsim.ScrollCursor, "replayable": upsim.ReplayableCursor} {
			t.Run(fmt.Sprintf("%s/%d", name, round), func(t *testing.T) {
				onEveryDatabase(t, func(t *testing.T, database string) {
					killRepeatedly(t, database, mode, rand.New(rand.NewPCG(round, 2)))
				})
			})
		}
	}
}

func killRepeatedly(t *testing.T, database string, mode upsim.CursorMode, random *rand.Rand) {
	came := newArrivals()
	w := newWorld(t, database, upsim.Config{Seed: 5, PerDay: 600, BadIDEvery: 401}, upsim.Options{Cursor: mode, OnEntry: came.entry, LogLimit: 100_000})
	w.settings = append(w.settings, "paging.replayable="+strconv.FormatBool(mode == upsim.ReplayableCursor), "slicing.step=P1D")
	args := w.harvestArgs("--workers", "1", "--lease", "2s")
	done := 0
	for range kills {
		cmd, output := w.child(args...)
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		if !came.wait(1+random.IntN(6), ended) {
			t.Logf("harvest ended after %d kills: %s", done, output)
			break
		}
		<-time.After(time.Duration(random.Int64N(int64(15 * time.Millisecond)))) // anywhere between two requests
		_ = cmd.Process.Kill()
		<-ended
		done++
		w.must("cursor", "verify")
	}
	if done < kills/2 {
		t.Fatalf("only %d kills hit a running harvest", done)
	}
	finish(t, w)
	w.verify()
	if mode == upsim.ReplayableCursor {
		refetchedAtMostOnePagePerKill(t, w, done)
	} else {
		startedOver(t, w)
	}
}

// finish works the queue to its end: every killed run left its plan behind.
func finish(t *testing.T, w *world) {
	t.Helper()
	w.now = w.now.Add(time.Second)
	w.harvest(3) // the rejects
	app := w.open()
	plans, err := app.Plans.List(t.Context(), view.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plans {
		if _, err := app.Work(t.Context(), p.ID, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) batches() []view.Batch {
	w.t.Helper()
	app := w.open()
	batches, err := app.Tasks.ListBatches(w.t.Context(), view.Filter{Limit: 100_000})
	if err != nil {
		w.t.Fatal(err)
	}
	return batches
}

// D§7: at most one batch is fetched again per kill where pages can be replayed. On a machine that is too slow a run may lose its lease as
// well, which is as if it had been killed.
func refetchedAtMostOnePagePerKill(t *testing.T, w *world, done int) {
	t.Helper()
	committed := 0
	for _, b := range w.batches() {
		if b.Status == "SUCCEEDED" {
			committed++
		}
	}
	runs, err := w.open().Tasks.ListRuns(t.Context(), view.Filter{Limit: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	broken := 0
	for _, r := range runs {
		if r.Status != "SUCCEEDED" {
			broken++
		}
	}
	served := w.server.Requests()
	if extra := served - committed; extra < 0 || extra > max(done, broken) {
		t.Errorf("%d requests for %d committed batches: %d fetched again after %d kills and %d runs that did not end well", served, committed, extra, done, broken)
	}
}

// Where pages cannot be replayed, the slice in flight starts over.
func startedOver(t *testing.T, w *world) {
	t.Helper()
	for _, b := range w.batches() {
		if b.Pass > 1 {
			return
		}
	}
	t.Error("no slice was started over, although runs were killed in the middle of a walk")
}

// Ctrl-C: the batch is finished or abandoned, the lease released, exit 130, and
// the next run continues.
func TestInterruptedHarvestContinues(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		came := newArrivals()
		w := newWorld(t, database, upsim.Config{Seed: 9, PerDay: 400}, upsim.Options{OnEntry: came.entry})
		w.faults("slow@*:delay=20ms")
		cmd, output := w.child(w.harvestArgs("--workers", "2")...)
		ended := make(chan struct{})
		var err error
		go func() {
			err = cmd.Wait()
			close(ended)
		}()
		if !came.wait(8, ended) {
			t.Fatalf("the harvest ended too early: %s", output)
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		<-ended
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Fatalf("exit %d (%v), want 130: %s", code, err, output)
		}
		app := w.open()
		tasks, err := app.Tasks.List(t.Context(), view.Filter{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			if task.LeaseOwner != "" {
				t.Errorf("task %d is still leased by %s", task.ID, task.LeaseOwner)
			}
		}
		w.faultsOff()
		for _, plan := range []int64{1} {
			if _, err := app.Work(t.Context(), plan, nil); err != nil {
				t.Fatal(err)
			}
		}
		w.verify()
	})
}
