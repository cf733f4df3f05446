package e2e

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/upsim"
)

// A harvest runs on a server's database, and other processes join it and are
// killed, at any moment: nothing is lost, and the harvest ends well.
func comeAndGo(t *testing.T, mode upsim.CursorMode, perDay, least int) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	came := newArrivals()
	w := newWorld(t, mariadb.DSN(t), upsim.Config{Seed: 71, PerDay: perDay, Flat: true}, upsim.Options{Cursor: mode, OnEntry: came.entry})
	w.settings = append(w.settings, "paging.replayable="+strconv.FormatBool(mode == upsim.ReplayableCursor), "paging.size=20", "slicing.step=P1D")
	w.faults("slow@*:delay=30ms")
	s := &subject{world: w, source: "crossref"}
	args := w.harvestArgs("--workers", "2", "--lease", "1s")
	first, output, ended := s.harvesting(args...)
	if !came.wait(3, ended) {
		t.Fatalf("the harvest ended too early: %s", output)
	}
	killed := 0
	for alive := true; alive; {
		guest, _, over := s.harvesting(args...)
		alive = came.wait(5+random.IntN(20), ended)
		_ = guest.Process.Kill()
		<-over
		if guest.ProcessState.ExitCode() == -1 {
			killed++
		}
	}
	if code := first.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("exit %d: %s", code, output)
	}
	t.Logf("%d processes joined and were killed", killed)
	if killed < least {
		t.Errorf("only %d processes were killed", killed)
	}
	w.faultsOff()
	w.now = w.now.Add(1)
	w.harvest(0) // a guest may have planned something of its own
	w.verify()
}

func TestExecutorsComeAndGo(t *testing.T) { comeAndGo(t, upsim.ReplayableCursor, 400, 3) }

func TestProofExecutorsComeAndGo(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	for name, mode := range map[string]upsim.CursorMode{"scroll": upsim.ScrollCursor, "replayable": upsim.ReplayableCursor} {
		t.Run(name, func(t *testing.T) { comeAndGo(t, mode, 2000, 30) })
	}
}
