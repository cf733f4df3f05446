package e2e

import (
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/upsim"
)

// F13: the line breaks at a COMMIT, before the server sees it or after it was
// done, again and again. Nobody can tell which; each step has one effect, and no
// page is fetched again for it.
func brokenCommits(t *testing.T, k kind, every int32) {
	direct := mariadb.DSN(t)
	s := k.start(t, direct, upsim.Options{})
	var commits, broken atomic.Int32
	_, s.database = newWire(t, direct, func() fate {
		switch n := commits.Add(1); {
		case n%(2*every) == 0:
			broken.Add(1)
			return swallowed
		case n%every == 0:
			broken.Add(1)
			return unheard
		}
		return delivered
	})
	s.finish()
	s.database = direct
	s.whole()
	s.refetched(0)
	t.Logf("%d of %d commits broke", broken.Load(), commits.Load())
	if broken.Load() < 10 {
		t.Error("the line hardly ever broke")
	}
}

func TestCommitsWhoseAnswerIsLostHaveOneEffect(t *testing.T) {
	brokenCommits(t, ofKind(t, "token"), 3)
}

func TestProofCommitsWhoseAnswerIsLostHaveOneEffect(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) { brokenCommits(t, k, 2) })
	}
}

// harvesting starts a harvest as a process of its own, and tells when it ended.
func (s *subject) harvesting(args ...string) (cmd *exec.Cmd, output interface{ String() string }, ended <-chan struct{}) {
	s.t.Helper()
	cmd, text := s.child(args...)
	over := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(over)
	}()
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-over
	})
	return cmd, text, over
}

// Every connection breaks at once, several times: the harvest goes on.
func TestBrokenConnectionsDoNotEndAHarvest(t *testing.T) {
	direct, came := mariadb.DSN(t), newArrivals()
	s := ofKind(t, "token").start(t, direct, upsim.Options{OnEntry: came.entry})
	s.faults("slow@*:delay=20ms")
	w, address := newWire(t, direct, nil)
	s.database = address
	cmd, output, ended := s.harvesting(s.args()...)
	for range 4 {
		if !came.wait(2, ended) {
			t.Fatalf("the harvest ended too early: %s", output)
		}
		w.cut()
	}
	<-ended
	s.database = direct
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("exit %d: %s", code, output)
	}
	s.whole()
}

// F12: the server goes away in the middle of a harvest and does not come back for
// long: the harvest ends and says why, asks the upstream no more, and the next
// one goes on.
func TestHarvestEndsWhenTheServerIsGoneAndGoesOnLater(t *testing.T) {
	direct, came := mariadb.DSN(t), newArrivals()
	s := ofKind(t, "token").start(t, direct, upsim.Options{OnEntry: came.entry})
	s.faults("slow@*:delay=20ms")
	w, address := newWire(t, direct, nil)
	s.database = address
	cmd, output, ended := s.harvesting(s.args()...)
	if !came.wait(5, ended) {
		t.Fatalf("the harvest ended too early: %s", output)
	}
	w.away(true)
	asked := s.server.Requests()
	<-ended
	t.Logf("%s", output)
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(output.String(), `"kind":"FAILURE"`) {
		t.Errorf("exit %d: %s", code, output)
	}
	if more := s.server.Requests() - asked; more > 1 {
		t.Errorf("%d requests for a store that is gone", more)
	}
	s.database = direct
	s.sane()
	s.faultsOff()
	s.database = address
	w.away(false)
	s.finish()
	s.database = direct
	s.whole()
}
