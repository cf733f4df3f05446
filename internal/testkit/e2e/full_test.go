//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/cli"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/need"
	"github.com/patra-ingest/patra/internal/upsim"
)

// smallDisk is a disk of some megabytes. Only root may make one; see need.Missing for
// what happens elsewhere.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=32m"); err != nil {
		need.Missing(t, "no disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves so many bytes of a disk free, and gives them back.
func fill(t *testing.T, dir string, left int64) (empty func()) {
	t.Helper()
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "ballast")
	ballast := make([]byte, int64(disk.Bavail)*disk.Bsize-left)
	if err := os.WriteFile(file, ballast, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// F9: the disk of the database fills up in a harvest. The harvest ends and says
// what to do, nothing is half written, what is stored can be read, and with room
// again the harvest goes on where it was. It reports how far the harvest came.
func fullDisk(t *testing.T, left int64, more ...string) (requests int) {
	dir := smallDisk(t)
	s := ofKind(t, "token").start(t, "sqlite:"+filepath.Join(dir, "patra.db"), upsim.Options{})
	empty := fill(t, dir, left)
	args := s.args(append(more, "--lease", "2s")...)
	cmd, output, ended := s.harvesting(args...)
	<-ended
	asked := s.server.Requests()
	t.Logf("%d KB free, after %d requests: %s", left>>10, asked, output)
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Fatalf("exit %d", code)
	}
	if text := output.String(); !strings.Contains(text, "full") && !strings.Contains(text, "no room") || !strings.Contains(text, "make room") {
		t.Errorf("the error does not say what to do: %s", text)
	}
	if code, _, errText := s.patra("run", "list", "-o", "json"); code != 0 {
		t.Errorf("a list on a full disk: exit %d, %s", code, errText)
	}
	s.sane()
	empty()
	s.must(args...)
	s.whole()
	if again := s.server.Requests() - s.requests; again > 2 {
		t.Errorf("%d pages were fetched again", again)
	}
	return asked
}

func TestFullDisk(t *testing.T) {
	t.Run("with bodies", func(t *testing.T) { fullDisk(t, 600<<10) })
	t.Run("database alone", func(t *testing.T) {
		if n := fullDisk(t, 600<<10, "--no-raw"); n == 0 {
			t.Error("the disk was full before the first page")
		}
	})
}

// ear is where a process writes, for those who wait for a word of it.
type ear struct {
	mu   sync.Mutex
	text strings.Builder
	news chan struct{}
}

func (e *ear) Write(line []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text.Write(line)
	close(e.news)
	e.news = make(chan struct{})
	return len(line), nil
}

// hears waits until something was said so often, or the process ended.
func (e *ear) hears(word string, times int, ended <-chan struct{}) bool {
	for {
		e.mu.Lock()
		heard, news := strings.Count(e.text.String(), word) >= times, e.news
		e.mu.Unlock()
		if heard {
			return true
		}
		select {
		case <-news:
		case <-ended:
			return false
		}
	}
}

// F9, F11: a process that serves finds the disk full. It says so once, takes no
// further task, and goes on by itself when there is room. No task has lost an
// attempt.
func TestServeWaitsForRoom(t *testing.T) {
	dir := smallDisk(t)
	s := ofKind(t, "token").start(t, "sqlite:"+filepath.Join(dir, "patra.db"), upsim.Options{})
	s.must(s.planArgs("--set", "retry.taskAttempts=1")...)
	tasks, err := s.open().Tasks.List(t.Context(), view.Filter{Limit: 1000})
	if err != nil || len(tasks) == 0 {
		t.Fatalf("%d tasks, %v", len(tasks), err)
	}
	empty := fill(t, dir, 600<<10)
	said, ended := &ear{news: make(chan struct{})}, make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		defer close(ended)
		cli.Main(ctx, []string{"serve", "--log-format", "text", "--roles", "executor", "--workers", "2", "--no-raw", "--lease", "2s", "--db", s.database}, said, said)
	}()
	if !said.hears("nothing can be stored", 1, ended) {
		t.Fatalf("ended:\n%s", said.text.String())
	}
	empty()
	if !said.hears("there is room again", 1, ended) || !said.hears("status=SUCCEEDED", len(tasks), ended) {
		t.Fatalf("ended:\n%s", said.text.String())
	}
	stop()
	<-ended
	text := said.text.String()
	if n := strings.Count(text, "nothing can be stored"); n != 1 || !strings.Contains(text, "alarm=L4") || !strings.Contains(text, "make room") {
		t.Errorf("said %d times:\n%s", n, text)
	}
	s.whole()
}

// The last free page is taken by another statement each time.
func TestProofFullDisk(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	for kb := int64(100); kb <= 1000; kb += 36 {
		t.Run(fmt.Sprint(kb, " KB"), func(t *testing.T) { fullDisk(t, kb<<10) })
	}
}
