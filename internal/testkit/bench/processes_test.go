package bench

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	process "os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

const (
	answerTime = 50 * time.Millisecond // of the simulated source
	crew       = 4                     // processes that are compared with one
	crewRounds = 3
)

// benchProcesses compares executor processes of one worker each with one such
// process, on an upstream that takes its time. SQLite takes one process only.
func benchProcesses(b *testing.B, k kind, out *table) {
	if k.name == "SQLite" {
		b.Skip("one executor process per SQLite file")
	}
	program := build(b)
	size := works{days: 48, perDay: 110, bytes: 1000} // six pages a day, the last one short
	a := &arrivals{}
	u := startUpstream(b, size, func(next http.Handler) http.Handler { return a.slow(remembered(next)) })
	compiled := u.compile(b, "paging.size=20")
	var one, many []float64
	repeat(b, crewRounds, func() {
		one = append(one, processesOnce(b, k, program, u, a, compiled, 1))
		many = append(many, processesOnce(b, k, program, u, a, compiled, crew))
	})
	rounds := make([]float64, len(one))
	for i := range rounds {
		rounds[i] = many[i] / one[i]
	}
	perSecond := func(values []float64) string { return fmt.Sprintf("%.1f pages/s", median(values)) }
	out.add(b, line{
		what: fmt.Sprintf("%d executor processes, %s to an answer, %d slices of %d pages, %s", crew, answerTime, size.days, size.perDay/20+1, k.name),
		ours: perSecond(many), reference: perSecond(one), ratio: median(rounds),
		reads: fmt.Sprintf("their speed / one process; %d would be linear; rounds %.2f to %.2f", crew, slices.Min(rounds), slices.Max(rounds)),
	})
}

// build makes the program as it ships.
func build(tb testing.TB) string {
	tb.Helper()
	program := filepath.Join(tb.TempDir(), "patra")
	if out, err := process.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "github.com/patra-ingest/patra/cmd/patra").CombinedOutput(); err != nil {
		tb.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

// processesOnce lets n processes work on a plan of their own and gives the pages
// a second from the moment the last of them began to the last page.
func processesOnce(b *testing.B, k kind, program string, u upstream, a *arrivals, compiled *spec.Compiled, n int) (speed float64) {
	b.Helper()
	inScope(b, func(tb testing.TB) {
		db := k.fresh(tb)
		s := db.open(tb, false)
		plan, _, err := planner.New(s).Plan(tb.Context(), compiled, planner.Request{
			Now: u.to().AddDate(0, 0, 1), From: u.from(), To: u.to(), TriggerKey: "bench", Scheduler: "BENCH", Type: "MANUAL",
		})
		if err != nil {
			tb.Fatal(err)
		}
		a.reset()
		for range n {
			startProcess(tb, program, db.address)
		}
		a.wait(tb, s, plan.ID)
		speed = a.speed(tb, n)
	})
	return speed
}

// startProcess runs an executor until the scope ends.
func startProcess(tb testing.TB, program, database string) {
	tb.Helper()
	cmd := process.Command(program, "serve", "--roles", "executor", "--workers", "1", "--no-raw", "-q", "--db", database)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Dir = tb.TempDir()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			fmt.Fprintf(os.Stderr, "an executor ended with %v: %s\n", err, output.String())
		}
	})
}

// arrivals is when requests came, and from which connection: a process with one
// worker has one.
type arrivals struct {
	mu   sync.Mutex
	at   []time.Time
	from []string
}

func (a *arrivals) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at, a.from = nil, nil
}

// slow answers after answerTime.
func (a *arrivals) slow(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.at, a.from = append(a.at, time.Now()), append(a.from, r.RemoteAddr)
		a.mu.Unlock()
		<-time.After(answerTime)
		next.ServeHTTP(w, r)
	})
}

// wait looks at the plan until it has ended.
func (a *arrivals) wait(tb testing.TB, s *store.Store, plan int64) {
	tb.Helper()
	for {
		p, err := s.Progress(tb.Context(), plan)
		if err != nil {
			tb.Fatal(err)
		}
		if p.Done == p.Total {
			if good := p.Slices["SUCCEEDED"]; good != p.Total {
				tb.Fatalf("%d of %d slices succeeded", good, p.Total)
			}
			return
		}
		<-time.After(100 * time.Millisecond)
	}
}

// speed leaves out how long processes take to start.
func (a *arrivals) speed(tb testing.TB, n int) float64 {
	tb.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := map[string]bool{}
	for i, from := range a.from {
		if seen[from] = true; len(seen) == n {
			return float64(len(a.at)-i-1) / a.at[len(a.at)-1].Sub(a.at[i]).Seconds()
		}
	}
	tb.Fatalf("requests came from %d processes, want %d", len(seen), n)
	return 0
}
