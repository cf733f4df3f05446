package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/upsim"
)

// armed starts the program so that something happens to it at a point.
func (s *subject) armed(at string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(self, append(args, "--db", s.database)...)
	cmd.Env = append(os.Environ(), crashEnv+"="+at)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	return cmd, &output
}

// dies harvests until the point kills the process.
func (s *subject) dies(p crash.Point, passage int) {
	s.t.Helper()
	cmd, output := s.armed(fmt.Sprintf("%s:%d:kill", p, passage), s.args()...)
	_ = cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		s.t.Fatalf("the harvest ended with %v instead of dying at passage %d of %s: %s", cmd.ProcessState, passage, p, output)
	}
}

// fetchedAgain is how many answers are lost with a process that dies at a point:
// those that were asked for and not committed.
func fetchedAgain(p crash.Point) int {
	lost := []crash.Point{crash.Sent, crash.BodyRead, crash.BodyKept, crash.BatchRow, crash.Frames, crash.Records, crash.Outbox}
	if slices.Contains(lost, p) {
		return 1
	}
	return 0
}

// passages of a point that differ: the first slice and a later one; for the
// cursor, planning and the end of a slice. A plan of this size is stored at once,
// and one worker leaves one lease behind.
func passages(p crash.Point) []int {
	if p == crash.HalfSliced || p == crash.Reaping {
		return []int{1}
	}
	return []int{1, 3}
}

// F1: kill -9 at a named point, then another process: nothing lost, nothing
// doubled, and no more asked for again than was in flight.
func crashAt(t *testing.T, k kind, database string, p crash.Point, passage int) {
	s := k.start(t, database, upsim.Options{})
	lost := fetchedAgain(p)
	if p == crash.Reaping { // somebody must leave a lease behind first
		s.dies(crash.BodyKept, 2)
		lost = fetchedAgain(crash.BodyKept)
	}
	s.dies(p, passage)
	s.sane()
	if t.Failed() {
		return // a harvest may wait for ever for what is missing
	}
	s.finish()
	s.whole()
	s.refetched(lost)
}

// harvestPoints are those that a harvest passes; the relay, alerts, maintenance,
// migrations, exports and tokens have tests of their own.
func harvestPoints() []crash.Point {
	elsewhere := []crash.Point{crash.Published, crash.Told, crash.Folding, crash.Pruning, crash.Repacking, crash.Migrating, crash.Exporting, crash.Copying, crash.Exchanged, crash.Beside, crash.Rotated}
	return slices.DeleteFunc(slices.Clone(crash.Points[:]), func(p crash.Point) bool { return slices.Contains(elsewhere, p) })
}

func TestNamedCrashPoints(t *testing.T) {
	scroll, token, twoPhase := ofKind(t, "scroll"), ofKind(t, "token"), ofKind(t, "two-phase")
	for _, p := range harvestPoints() {
		for _, passage := range passages(p) {
			if passage == 1 && len(passages(p)) > 1 && p != crash.Event && p != crash.Cursor {
				continue // in make proof
			}
			t.Run(fmt.Sprintf("sqlite/token/%s/%d", p, passage), func(t *testing.T) { crashAt(t, token, sqliteFile(t), p, passage) })
		}
	}
	for _, c := range []struct {
		kind
		point   crash.Point
		passage int
	}{{scroll, crash.Records, 3}, {twoPhase, crash.Committed, 4}, {twoPhase, crash.Sent, 5}} {
		t.Run(fmt.Sprintf("sqlite/%s/%s", c.name, c.point), func(t *testing.T) { crashAt(t, c.kind, sqliteFile(t), c.point, c.passage) })
	}
	for _, c := range []struct {
		kind
		point   crash.Point
		passage int
	}{{token, crash.Outbox, 3}, {token, crash.Cursor, 3}, {token, crash.HalfSliced, 1}, {twoPhase, crash.Reaping, 1}, {scroll, crash.Committed, 3}} {
		t.Run(fmt.Sprintf("mariadb/%s/%s", c.name, c.point), func(t *testing.T) { crashAt(t, c.kind, mariadb.DSN(t), c.point, c.passage) })
	}
}

func sqliteFile(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "patra.db") }

// Every point, every kind of source, both databases.
func TestProofNamedCrashPoints(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	for _, k := range kinds() {
		for _, p := range harvestPoints() {
			for _, passage := range passages(p) {
				t.Run(fmt.Sprintf("%s/%s/%d", k.name, p, passage), func(t *testing.T) {
					onEveryDatabase(t, func(t *testing.T, database string) { crashAt(t, k, database, p, passage) })
				})
			}
		}
	}
}

// What is counted above is counted from this.
func TestUndisturbedHarvestSendsAsManyRequestsAsThereArePages(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			s := k.start(t, sqliteFile(t), upsim.Options{})
			s.finish()
			s.whole()
			s.refetched(0)
		})
	}
}
