package e2e

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/testkit/gatetest"
	"github.com/patra-ingest/patra/internal/upsim"
)

// crowd is a fleet of so many processes that start at the same moment.
func crowd(t *testing.T, processes, perSecond int, burst float64, redis bool, seconds int) *fleet {
	f := &fleet{perSecond: perSecond, burst: burst, processes: processes, noRedis: !redis, perDay: perSecond * seconds / 7 * 20}
	f.assemble(t, upsim.Options{}, "rate.concurrency=16", "paging.size=20")
	return f
}

// Any number of processes that start together, by the upstream's own log: never
// above burst + rate × time.
func TestBelieve14NeverAboveWithAnyNumberOfProcesses(t *testing.T) {
	for _, c := range []struct {
		processes int
		burst     float64
		redis     bool
	}{{2, 10, false}, {8, 1, false}, {8, 10, true}} { // all of them are in the proof
		t.Run(fmt.Sprintf("%d processes, burst %v, Redis %v", c.processes, c.burst, c.redis), func(t *testing.T) {
			f := crowd(t, c.processes, 20, c.burst, c.redis, 6)
			f.finish()
			f.within()
			f.tellUse()
		})
	}
}

// The same at full length, and the rate is used.
func TestProofTheRateIsUsedByAnyNumberOfProcesses(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("a proof: set PATRA_PROOF=1")
	}
	for _, n := range []int{1, 2, 4, 8} {
		for _, burst := range []float64{1, 10} {
			for _, redis := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d processes, burst %v, Redis %v", n, burst, redis), func(t *testing.T) {
					f := crowd(t, n, 20, burst, redis, 60)
					f.finish()
					f.within()
					if excused := f.tellUse(); excused < 0.97 {
						t.Error("politeness is not slowness: at least 97 % are expected")
					}
				})
			}
		}
	}
}

// Without a burst, while Redis dies, comes back empty, and processes stand still.
func TestBelieve14NeverAboveWhileRedisComesAndGoes(t *testing.T) {
	loseRedis(crowd(t, 4, 20, 1, true, 20))
}

func TestProofNeverAboveWhileRedisComesAndGoes(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("a proof: set PATRA_PROOF=1")
	}
	for _, n := range []int{4, 8} {
		for _, burst := range []float64{1, 10} {
			t.Run(fmt.Sprintf("%d processes, burst %v", n, burst), func(t *testing.T) { loseRedis(crowd(t, n, 20, burst, true, 60)) })
		}
	}
}

// tellUse is the share of the rate that was used. The first seconds belong to the
// start of the processes, the last ones to the last slices.
func (f *fleet) tellUse() float64 {
	n := len(f.at)
	plain, excused := f.used(n/5, n*4/5)
	f.t.Logf("%.1f %% of the declared rate were used; %.1f %% without the time in which this machine ran nothing", plain*100, excused*100)
	return excused
}

// A process that stands still for longer than its share counts, goes on, and one
// that is killed: never above, by the upstream's own log.
func TestBelieve12NeverAboveWhileProcessesComeAndGo(t *testing.T) {
	f := crowd(t, 4, 20, 1, false, 20)
	f.begun()
	_ = f.workers[0].Process.Signal(syscall.SIGSTOP)
	f.lasts(gate.VoidAfter + time.Second)
	_ = f.workers[0].Process.Signal(syscall.SIGCONT)
	_ = f.workers[1].Process.Kill()
	late, _ := f.child("serve", "--roles", "executor", "--workers", "4", "--lease", "3s", "--no-raw")
	f.workers = append(f.workers, late)
	f.finish()
	f.within()
}

// After the upstream has asked for a pause no process sends inside it, not only
// the one that was told.
func TestBelieve13NobodySendsInsideAPause(t *testing.T) {
	f := crowd(t, 4, 20, 1, false, 15)
	f.begun()
	f.faults("429@*:times=1:retry-after=3")
	f.finish()
	f.within()
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.SortFunc(f.log, func(a, b upsim.Entry) int { return a.At.Compare(b.At) })
	told := slices.IndexFunc(f.log, func(e upsim.Entry) bool { return e.Status == 429 })
	if told < 0 {
		t.Fatal("the upstream asked for nothing")
	}
	// What was under way, and what left before the pause was stored, came anyway.
	stored := f.log[told].At.Add(f.noise.Worst() + 100*time.Millisecond)
	inside := 0
	for _, e := range f.log {
		if e.At.After(stored) && e.At.Before(f.log[told].At.Add(3*time.Second)) {
			inside++
		}
	}
	t.Logf("%d requests inside a pause of 3 s", inside)
	if inside > 0 && gatetest.Proves() { // on a slow machine they may have left before
		t.Error("somebody sends inside a pause")
	}
}
