//go:build unix

package e2e

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/upsim"
)

// stopped waits until a child has been stopped.
func stopped(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil || !status.Stopped():
			t.Fatalf("the process was not stopped: %v, status %#x", err, status)
		}
		return
	}
}

// F4: a worker sleeps longer than its lease, and another one takes over and ends
// the job. When the first wakes up, its write is refused (I7): the page it holds
// has no effect, and the history of runs tells what happened.
func stoppedAt(t *testing.T, p crash.Point) {
	s := ofKind(t, "token").start(t, mariadb.DSN(t), upsim.Options{})
	first, firstOutput := s.armed(string(p)+":3:stop", s.args("--lease", "1s", "-v")...)
	t.Cleanup(func() { _ = first.Process.Kill() })
	stopped(t, first)
	second, secondOutput := s.child(s.args("--lease", "1m", "-v")...) // nothing stops this one
	if err := second.Wait(); err != nil {
		t.Fatalf("the second process: %v\n%s", err, secondOutput)
	}
	s.whole()
	if err := first.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the first process: %v\n%s", err, firstOutput)
	}
	s.whole()
	lost := 1
	if p != crash.Claimed { // there it has no run yet
		lost = s.taken()
	}
	if !strings.Contains(firstOutput.String(), "lease lost") {
		t.Errorf("the first process does not say that it lost its lease:\n%s", firstOutput)
	}
	// What a worker had asked for when it lost its lease, and at most one request
	// more before it looks at its clock.
	if again := s.server.Requests() - s.requests; again > 2*lost {
		t.Errorf("%d requests were made in vain, and %d leases were lost", again, lost)
	}
}

// taken expects a task with two runs: the first ended by the reaper, the second of
// another process. On a busy machine the first may lose a lease of a second before it is
// stopped too; that task then has two runs as well, perhaps both of one process. It
// answers how many leases were lost.
func (s *subject) taken() (leases int) {
	s.t.Helper()
	runs, err := s.open().Tasks.ListRuns(s.t.Context(), view.Filter{Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	byTask := map[int64][]view.Run{}
	for _, r := range runs {
		byTask[r.TaskID] = append(byTask[r.TaskID], r)
	}
	found := false
	for task, list := range byTask { // newest first
		last := list[0]
		if last.Status != "SUCCEEDED" {
			s.t.Errorf("task %d ended with %+v", task, last)
		}
		for _, lost := range list[1:] {
			if lost.Status != "FAILED" || lost.ErrorCode != "LEASE_EXPIRED" || last.Epoch <= lost.Epoch {
				s.t.Errorf("task %d: %+v then %+v", task, lost, last)
			}
			found = found || last.Worker != lost.Worker
			leases++
		}
	}
	if !found {
		s.t.Error("no task was taken over by another process")
	}
	return leases
}

func TestStoppedWorkerWritesNothing(t *testing.T) {
	for _, p := range []crash.Point{crash.BodyRead, crash.Committed} {
		t.Run(string(p), func(t *testing.T) { stoppedAt(t, p) })
	}
}

// Inside a transaction (P8, P9) the server keeps the rows of the stopped worker locked
// until it gives the transaction up.
func TestProofStoppedWorkerWritesNothing(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	for _, p := range []crash.Point{crash.Claimed, crash.RunRow, crash.Permitted, crash.Sent, crash.BodyRead, crash.BodyKept, crash.BatchRow, crash.Event, crash.Committed, crash.Finishing} {
		t.Run(string(p), func(t *testing.T) { stoppedAt(t, p) })
	}
}
