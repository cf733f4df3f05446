//go:build !windows

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/upsim"
)

// A database file that is removed or replaced during a run must end the run with
// exit code 1: everything seems to go well, and nothing of it is there afterwards.
// Once the file is back, the next run reads what is missing.
func TestBelieve08TheDatabaseFileIsRemovedDuringARun(t *testing.T) {
	for name, c := range map[string]struct {
		moved []string // endings of the files that go away
		other bool     // another database stands there then
		want  string
	}{
		"the file":             {[]string{""}, false, "was removed"},
		"the file and its log": {[]string{"", "-wal", "-shm"}, false, "was removed"},
		"a file in its place":  {[]string{"", "-wal", "-shm"}, true, "was replaced by another file"},
		"the log alone":        {[]string{"-wal"}, false, "-wal was removed"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "patra.db")
			var once sync.Once
			move := func() {
				for _, end := range c.moved {
					if err := os.Rename(file+end, file+end+".away"); err != nil {
						t.Error(err)
					}
				}
				if c.other {
					if err := os.WriteFile(file, nil, 0o600); err != nil {
						t.Error(err)
					}
				}
			}
			w := newWorld(t, "sqlite:"+file, upsim.Config{Seed: 3, PerDay: 100}, upsim.Options{Faults: []upsim.Fault{{
				Kind: upsim.Fault500, When: func(h upsim.Hit) bool {
					if h.N == 4 {
						once.Do(move)
					}
					return false
				},
			}}})
			cmd, output := w.child(w.harvestArgs()...)
			if err := cmd.Wait(); err == nil {
				t.Fatalf("the run ended well: %s", output)
			}
			if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(output.String(), c.want) {
				t.Errorf("exit code %d, %s", code, output)
			}
			if c.want == "-wal was removed" {
				return // what was only in the log is gone
			}
			for _, end := range []string{"", "-wal", "-shm"} {
				_ = os.Remove(file + end)
				if _, err := os.Stat(file + end + ".away"); err == nil {
					if err := os.Rename(file+end+".away", file+end); err != nil {
						t.Fatal(err)
					}
				}
			}
			w.harvest(0)
			w.verify()
		})
	}
}
