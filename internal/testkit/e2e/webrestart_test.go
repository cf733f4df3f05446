package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/upsim"
)

// watcher reads the stream of a process, as a browser does.
type watcher struct {
	lines  *bufio.Scanner
	lastID string
}

// watchLive opens the stream of a process.
func (e *exporter) watchLive(lastID string) *watcher {
	e.Helper()
	r, err := http.NewRequestWithContext(e.Context(), http.MethodGet, e.address+"/v1/live", nil)
	if err != nil {
		e.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+e.token)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		e.Fatalf("%v %v", answer, err)
	}
	e.Cleanup(func() { _ = answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 4<<20)
	return &watcher{lines: lines, lastID: lastID}
}

// next returns the next event; false: the stream has ended.
func (w *watcher) next() (name, data string, ok bool) {
	for w.lines.Scan() {
		switch field, value, _ := strings.Cut(w.lines.Text(), ": "); field {
		case "event":
			name = value
		case "id":
			w.lastID = value
		case "data":
			data = value
		case "":
			if name != "" {
				return name, data, true
			}
		}
	}
	return "", "", false
}

// awaitStopped waits until a process has stopped itself.
func (e *exporter) awaitStopped() {
	e.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for range 3000 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", e.cmd.Process.Pid))
		if err != nil {
			e.Fatal(err)
		}
		if _, after, _ := strings.Cut(string(text), ") "); strings.HasPrefix(after, "T") {
			return
		}
		<-look.C
	}
	e.Fatal("it does not come to the point at which it stops")
}

// A process is stopped by SIGTERM in the middle of an export, while a client watches it. It ends in
// order. The stream ends, and the client that comes back to the next process with the number it had is
// told all that is known again, as the page of the interface promises. The export is told as broken
// off, with what to do next; no part of it is given out or left.
func TestARestartDuringAnExportAndAStream(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		s := ofKind(t, "token").start(t, database, upsim.Options{})
		s.finish()
		folder, config, token := s.prepareExports()
		first := serveExports(t, s, config, token, self, crashEnv+"="+string(crash.Exporting)+":1:stop")
		before := first.watchLive("")
		if name, data, ok := before.next(); name != "state" || !ok || before.lastID == "" {
			t.Fatalf("%s %s %v", name, data, ok)
		}
		asked := make(chan string, 1)
		go func() { // it may stop before it has answered
			status, body := first.call(http.MethodPost, "/v1/exports", `{"source":"`+s.source+`","reason":"for a paper"}`)
			asked <- fmt.Sprintf("%d %s", status, body)
		}()
		first.awaitStopped()
		if left, err := filepath.Glob(filepath.Join(folder, "*", ".*.partial")); err != nil || len(left) != 1 {
			t.Fatalf("it has %v %v, so nothing is proved", left, err)
		}
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} {
			if err := first.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
		}
		for ok := true; ok; {
			_, _, ok = before.next() // it ends: the process closed it
		}
		<-first.ended
		if answer := <-asked; !strings.HasPrefix(answer, "200 ") && !strings.HasPrefix(answer, "0 ") {
			t.Errorf("the export was asked for: %s", answer)
		}
		if code := first.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("it ended with code %d", code)
		}
		next := serveExports(t, s, config, token, self, childEnv+"=1")
		after := next.watchLive(before.lastID)
		name, data, _ := after.next()
		var told map[string]json.RawMessage
		if err := json.Unmarshal([]byte(data), &told); name != "state" || err != nil || told["progress"] == nil || told["findings"] == nil || told["throughput"] == nil || after.lastID == before.lastID {
			t.Errorf("after the restart: %s %v %s", name, err, data)
		}
		got := next.until(1)
		status, _ := next.call(http.MethodGet, "/v1/exports/1/file", "")
		switch got.Status {
		case "FAILED":
			if status != http.StatusNotFound || !strings.Contains(got.Error, "ask for the export again") {
				t.Errorf("file %d: %+v", status, got)
			}
		case "SUCCEEDED":
			if status != http.StatusOK {
				t.Errorf("file %d: %+v", status, got)
			}
		default:
			t.Errorf("%+v", got)
		}
		if left, err := filepath.Glob(filepath.Join(folder, "*", ".*.partial")); err != nil || len(left) != 0 {
			t.Errorf("left: %v %v", left, err)
		}
	})
}
