package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/gatetest"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/testkit/redis"
	"github.com/patra-ingest/patra/internal/upsim"
)

// fleet is some processes that execute and share a rate, through Redis or without
// it, and an upstream that writes down when requests came.
type fleet struct {
	*world
	noise   *gatetest.Noise
	redis   *redis.Server
	workers []*exec.Cmd
	harvest *exec.Cmd
	output  *bytes.Buffer
	began   time.Time     // before the first request
	ended   chan struct{} // the harvest

	perSecond int // declared
	burst     float64
	processes int // four unless it is said
	noRedis   bool
	perDay    int
	config    upsim.Config

	came *arrivals
	mu   sync.Mutex
	log  []upsim.Entry
	at   []time.Time
}

const fleetBurst = 10.0

func newFleet(t *testing.T, perDay int) *fleet {
	f := &fleet{perSecond: 50, perDay: perDay}
	f.assemble(t, upsim.Options{}, "rate.concurrency=16", "paging.size=20")
	return f
}

// assemble starts the upstream, processes that only execute, and one that plans
// too and ends with its harvest.
func (f *fleet) assemble(t *testing.T, o upsim.Options, settings ...string) {
	t.Helper()
	f.noise, f.came, f.ended = gatetest.Listen(t), newArrivals(), make(chan struct{})
	f.burst, f.processes = cmp.Or(f.burst, fleetBurst), cmp.Or(f.processes, 4)
	o.OnEntry = f.entry
	c := f.config
	c.Seed, c.PerDay = 61, f.perDay
	f.world = newWorld(t, mariadb.DSN(t), c, o)
	f.set(append([]string{fmt.Sprint("rate.perSecond=", f.perSecond), fmt.Sprint("rate.burst=", f.burst)}, settings...)...)
	common := []string{"--workers", "4", "--lease", "3s", "--no-raw"}
	if !f.noRedis {
		f.redis = redis.Start(t)
		common = append(common, "--gate", f.redis.URL())
	}
	for range f.processes - 1 {
		worker, _ := f.child(append([]string{"serve", "--roles", "executor"}, common...)...)
		f.workers = append(f.workers, worker)
	}
	f.began = time.Now()
	f.harvest, f.output = f.child(f.harvestArgs(common...)...)
	go func() {
		_ = f.harvest.Wait()
		close(f.ended)
	}()
}

// set replaces settings.
func (w *world) set(settings ...string) {
	for _, s := range settings {
		name, _, _ := strings.Cut(s, "=")
		w.settings = append(slices.DeleteFunc(w.settings, func(old string) bool { return strings.HasPrefix(old, name+"=") }), s)
	}
}

func (f *fleet) entry(e upsim.Entry) {
	f.mu.Lock()
	f.at, f.log = append(f.at, e.At), append(f.log, e)
	f.mu.Unlock()
	f.came.entry(e)
}

// finish waits for the harvest, stops the others and looks at what was stored.
func (f *fleet) finish() {
	f.t.Helper()
	<-f.ended
	for _, w := range f.workers {
		_ = w.Process.Signal(syscall.SIGTERM)
		_ = w.Wait()
	}
	if code := f.harvest.ProcessState.ExitCode(); code != 0 {
		f.t.Fatalf("harvest: exit %d\n%s", code, f.output)
	}
	f.verify()
}

// within is I11 by the upstream's own log.
func (f *fleet) within() {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	gatetest.CheckRate(f.t, f.began, f.at, float64(f.perSecond), f.burst, f.noise)
}

// used is the share of the declared rate between two requests of the log: plain,
// and without the time in which this machine ran nothing.
func (f *fleet) used(first, last int) (plain, excused float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.SortFunc(f.at, time.Time.Compare)
	took, allowed := f.at[last].Sub(f.at[first]), float64(last-first)/float64(f.perSecond)
	return allowed / took.Seconds(), allowed / (took - f.noise.Between(f.at[first], f.at[last])).Seconds()
}

// Four processes on MariaDB and Redis: never above the declared rate, and in the
// proof the rate is used.
func TestFourProcessesShareARate(t *testing.T) { shareARate(t, 1200) }

func TestProofFourProcessesShareARate(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("a proof: set PATRA_PROOF=1")
	}
	shareARate(t, 12_000)
}

func shareARate(t *testing.T, perDay int) {
	f := newFleet(t, perDay)
	f.finish()
	f.within()
	// How much of the rate is used depends on the machine: only a proof asks for it.
	if excused := f.tellUse(); excused < 0.97 && os.Getenv("PATRA_PROOF") != "" {
		t.Error("politeness is not slowness: at least 97 % are expected")
	}
}

// The same while Redis is killed, one process stands still, and Redis comes back
// empty: never above the rate, nothing lost.
func TestFourProcessesWithoutRedis(t *testing.T) { loseRedis(newFleet(t, 1200)) }

func TestProofFourProcessesWithoutRedis(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("a proof: set PATRA_PROOF=1")
	}
	loseRedis(newFleet(t, 12_000))
}

func loseRedis(f *fleet) {
	t := f.t
	t.Helper()
	expected := f.data.Len() / 20
	reach := func(share int) {
		t.Helper()
		if !f.came.wait(expected*share/100, f.ended) {
			t.Fatalf("the harvest ended too early: %s", f.output)
		}
	}
	reach(30)
	f.redis.Kill()
	reach(15)
	_ = f.workers[0].Process.Signal(syscall.SIGSTOP)
	reach(10)
	_ = f.workers[0].Process.Signal(syscall.SIGCONT)
	f.redis.Restart()
	reach(15)
	_ = f.workers[1].Process.Signal(syscall.SIGSTOP)
	<-time.After(500 * time.Millisecond)
	_ = f.workers[1].Process.Signal(syscall.SIGCONT)
	f.finish()
	f.within()
}
