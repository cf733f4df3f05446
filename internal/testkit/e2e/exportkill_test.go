package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/upsim"
)

// exporter is a process that serves the HTTP interface, and a token for it.
type exporter struct {
	*testing.T
	address, token string
	ended          chan struct{}
	cmd            *exec.Cmd
}

var exportsAt = regexp.MustCompile(`the HTTP interface answers" address=(\S+)`)

// serveExports starts a program that serves the HTTP interface.
func serveExports(t *testing.T, s *subject, config, token, program string, env ...string) *exporter {
	t.Helper()
	e := &exporter{T: t, token: token, ended: make(chan struct{})}
	e.cmd = exec.Command(program, "serve", "--roles", "api", "--listen", "127.0.0.1:0", "--log-format", "text", "--db", s.database, "--config", config)
	e.cmd.Env = append(os.Environ(), env...)
	said := &ear{news: make(chan struct{})}
	e.cmd.Stdout, e.cmd.Stderr = said, said
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(e.ended); _ = e.cmd.Wait() }()
	t.Cleanup(func() { _ = e.cmd.Process.Kill(); <-e.ended })
	if !said.hears("the HTTP interface answers", 1, e.ended) {
		t.Fatalf("it ended:\n%s", said.text.String())
	}
	said.mu.Lock()
	defer said.mu.Unlock()
	found := exportsAt.FindStringSubmatch(said.text.String())
	if found == nil {
		t.Fatalf("it does not say where:\n%s", said.text.String())
	}
	e.address = found[1]
	return e
}

// call asks the process; status 0 means that it did not answer.
func (e *exporter) call(method, path, body string) (status int, answer []byte) {
	e.Helper()
	r, err := http.NewRequestWithContext(e.Context(), method, e.address+path, strings.NewReader(body))
	if err != nil {
		e.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+e.token)
	r.Header.Set("Content-Type", "application/json")
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil
	}
	defer w.Body.Close()
	answer, err = io.ReadAll(w.Body)
	if err != nil {
		return 0, nil
	}
	return w.StatusCode, answer
}

// until waits until an export has ended.
func (e *exporter) until(id int64) (out struct{ Status, Error, SHA256 string }) {
	e.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for range 2000 {
		status, body := e.call(http.MethodGet, fmt.Sprintf("/v1/exports/%d", id), "")
		if err := json.Unmarshal(body, &out); status != http.StatusOK || err != nil {
			e.Fatalf("%d %s %v", status, body, err)
		}
		if out.Status != "QUEUED" && out.Status != "RUNNING" {
			return out
		}
		<-look.C
	}
	e.Fatalf("export %d does not end: %+v", id, out)
	return out
}

// prepareExports makes a configuration that exports into a folder, and a token that may ask for them.
func (s *subject) prepareExports() (folder, config, token string) {
	s.t.Helper()
	folder, config = filepath.Join(s.t.TempDir(), "exports"), filepath.Join(s.t.TempDir(), "patra.yaml")
	if err := os.WriteFile(config, []byte("exports:\n  dir: "+folder+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return folder, config, regexp.MustCompile(`patra_[A-Za-z0-9_-]{43}`).FindString(s.must("token", "create", "exports", "--role", "reader", "--reason", "test"))
}

// A process is killed by kill -9 while it writes an export. The next one says that it failed,
// removes what was written, and makes what is asked for anew.
func TestAnExportSurvivesNoKill(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		s := ofKind(t, "token").start(t, database, upsim.Options{})
		s.finish()
		folder, config, token := s.prepareExports()
		wish := `{"source":"` + s.source + `","reason":"for a paper"}`

		killed := serveExports(t, s, config, token, self, crashEnv+"="+string(crash.Exporting)+":1:kill")
		if status, body := killed.call(http.MethodPost, "/v1/exports", wish); status != http.StatusOK && status != 0 {
			t.Fatalf("%d %s", status, body)
		}
		<-killed.ended
		if status := killed.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Fatalf("it ended with %v", killed.cmd.ProcessState)
		}
		if left, err := filepath.Glob(filepath.Join(folder, "*", ".*.partial")); err != nil || len(left) != 1 {
			t.Fatalf("it left %v %v, so nothing is proved", left, err)
		}
		next := serveExports(t, s, config, token, self, childEnv+"=1")
		if got := next.until(1); got.Status != "FAILED" || !strings.Contains(got.Error, "ended before the file was whole") {
			t.Errorf("%+v", got)
		}
		if status, _ := next.call(http.MethodGet, "/v1/exports/1/file", ""); status != http.StatusNotFound {
			t.Errorf("its file: %d", status)
		}
		status, body := next.call(http.MethodPost, "/v1/exports", wish)
		var again struct{ ID int64 }
		if err := json.Unmarshal(body, &again); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s %v", status, body, err)
		}
		if got := next.until(again.ID); got.Status != "SUCCEEDED" {
			t.Fatalf("%+v", got)
		}
		if status, body := next.call(http.MethodGet, fmt.Sprintf("/v1/exports/%d/file", again.ID), ""); status != http.StatusOK || !bytes.HasSuffix(body, []byte("}\n")) {
			t.Errorf("%d %.200s", status, body)
		}
		if left, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(left) != 1 {
			t.Errorf("left: %v %v", left, err)
		}
	})
}
