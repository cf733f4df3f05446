package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/upsim"
)

// shippedProgram builds the program as a release has it, once for all tests.
var shippedProgram = sync.OnceValues(func() (string, error) {
	program := filepath.Join(scratch, "shipped", "patra")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "github.com/patra-ingest/patra/cmd/patra")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return program, nil
})

// machine is a second machine: an empty folder with the program and what somebody
// hands over, none of our environment, and no network.
type machine struct {
	t   *testing.T
	dir string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	program, err := shippedProgram()
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t, t.TempDir()}
	m.hand(program, "patra", 0o700)
	return m
}

func (m *machine) hand(from, name string, mode os.FileMode) {
	m.t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(filepath.Join(m.dir, name), content, mode)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// run starts the program in a network of its own that has not even a loopback.
// Where the system forbids that, the caller sees by the requests that arrive.
func (m *machine) run(args ...string) (code int, out, errText string) {
	m.t.Helper()
	start := func(alone bool) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer, error) {
		cmd := exec.Command(filepath.Join(m.dir, "patra"), args...)
		cmd.Dir, cmd.Env = m.dir, []string{"HOME=" + m.dir, "TMPDIR=" + m.dir, "PATH="}
		if alone {
			cmd.SysProcAttr = noNetwork()
		}
		var out, errText bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errText
		return cmd, &out, &errText, cmd.Start()
	}
	cmd, stdout, stderr, err := start(true)
	if err != nil {
		m.t.Logf("no network of its own, so requests are counted only: %v", err)
		if cmd, stdout, stderr, err = start(false); err != nil {
			m.t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// has lists the folder of the machine.
func (m *machine) has() (names []string) {
	m.t.Helper()
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Batches of a faulty harvest are exported, handed to a machine with no network and
// no database, and replayed there with the shipped program: identical, and nothing is
// left behind.
func TestABatchIsReplayedOnASecondMachine(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 8, PerDay: 60, BadIDEvery: 61, BadDateEvery: 97}, upsim.Options{})
		t.Setenv("PATRA_RAW_DIR", t.TempDir())
		w.faults("429@every:13;truncate-gzip@every:17;duplicate-page@every:9")
		w.harvest(3)
		var batches []struct {
			ID, RunID int64
			No        int `json:"batchNo"`
		}
		if err := decodeItems(w.must("batch", "list", "--limit", "3", "-o", "json"), &batches); err != nil || len(batches) != 3 {
			t.Fatalf("%d batches, %v", len(batches), err)
		}
		m := newMachine(t)
		for _, b := range batches {
			bundle := filepath.Join(t.TempDir(), "evidence.zip")
			var done struct{ Manifest blackbox.Manifest }
			if err := json.Unmarshal([]byte(w.must("batch", "export", fmt.Sprintf("%d/%d", b.RunID, b.No), "--out", bundle, "--reason", "for a colleague", "-o", "json")), &done); err != nil {
				t.Fatal(err)
			}
			m.hand(bundle, "evidence.zip", 0o600)
			asked := w.server.Requests()
			code, out, errText := m.run("batch", "replay", "evidence.zip", "--from", "raw", "--seal", done.Manifest.Seal, "-o", "json")
			var r blackbox.Report
			if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || !r.Identical || r.Keys.BatchID != b.ID {
				t.Errorf("batch %d: exit %d, %v\n%s%s", b.ID, code, err, out, errText)
			}
			if code, out, errText := m.run("batch", "replay", "evidence.zip", "--from", "upstream"); code != 2 || !strings.Contains(errText, "never asked") {
				t.Errorf("exit %d: %s%s", code, out, errText)
			}
			if w.server.Requests() != asked {
				t.Error("the upstream was asked")
			}
			if names := m.has(); len(names) != 2 {
				t.Errorf("the folder has %v", names)
			}
		}
	})
}
