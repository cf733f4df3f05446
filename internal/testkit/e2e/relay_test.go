package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/upsim"
)

// intoFiles declares a folder as the destination of all events.
func intoFiles(t *testing.T, dir string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "events.yaml")
	text := "destinations:\n  - name: files\n    jsonl: {dir: " + dir + ", fileEvents: 40}\nroutes:\n  - to: files\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// F46: the program is killed after it has published events and before it has marked
// them (P13): the next one publishes the same again, with equal bytes.
func TestF46RelayIsKilledBetweenPublishAndMark(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		s := ofKind(t, "token").start(t, database, upsim.Options{})
		s.finish()
		dir := filepath.Join(t.TempDir(), "out")
		file := intoFiles(t, dir)
		cmd, output := s.armed(string(crash.Published)+":1:kill", "events", "publish", "--events", file)
		_ = cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Fatalf("the relay ended with %v instead of dying: %s", cmd.ProcessState, output)
		}
		first := published(t, dir)
		if len(first) == 0 {
			t.Fatal("it died before it published")
		}
		s.sane()
		s.must("events", "publish", "--events", file)
		seen := map[string]int{}
		for _, line := range published(t, dir) {
			seen[line]++
		}
		if n := s.data.Len(); len(seen) != n {
			t.Errorf("%d different events for %d works", len(seen), n)
		}
		for _, line := range first {
			if seen[line] != 2 {
				t.Errorf("%.120s… came %d times, want twice", line, seen[line])
			}
		}
		s.sane()
	})
}

func published(t *testing.T, dir string) (lines []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
	}
	return lines
}
