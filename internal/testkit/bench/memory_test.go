package bench

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	process "os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	maxResident = 200 << 20
	maxGrowth   = 1.3 // of the last quarter's peak over the second's
)

// TestProofMemoryFlat lets the program as it ships harvest a million records, and
// looks at what it holds with every page it asks for. The first quarter is not
// compared: pools and caches fill in it. The simulated source is in this process
// and not counted.
func TestProofMemoryFlat(t *testing.T) {
	if !proof() {
		t.Skip("harvests 1,000,000 records, which takes minutes; run it with: PATRA_PROOF=1 go test -run ProofMemoryFlat -v ./internal/testkit/bench")
	}
	const page = 1000
	size := works{days: 50, perDay: 20_000, bytes: 1000}
	watched := &resident{pages: size.total() / page}
	u := startUpstream(t, size, watched.beside)
	cmd := process.Command(build(t), "harvest", "crossref", "-q", "--db", "sqlite:"+filepath.Join(t.TempDir(), "patra.db"),
		"--from", u.from().Format(time.DateOnly), "--to", u.to().Format(time.DateOnly))
	for _, override := range append(u.overrides(), fmt.Sprintf("paging.size=%d", page)) {
		cmd.Args = append(cmd.Args, "--set", override)
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := watched.start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, output.String())
	}
	if !bytes.Contains(output.Bytes(), []byte("1000000")) && !bytes.Contains(output.Bytes(), []byte("1,000,000")) {
		t.Fatalf("it did not store a million records:\n%s", output.String())
	}
	watched.mu.Lock()
	defer watched.mu.Unlock()
	for i, peak := range watched.peaks {
		t.Logf("most that was resident in quarter %d: %d MB", i+1, peak>>20)
		if peak == 0 {
			t.Fatalf("quarter %d has no sample", i+1)
		}
		if peak > maxResident {
			t.Errorf("%d MB in quarter %d, want at most %d MB", peak>>20, i+1, maxResident>>20)
		}
	}
	if second, last := watched.peaks[1], watched.peaks[3]; float64(last) > maxGrowth*float64(second) {
		t.Errorf("memory grows with the harvest: %d MB in the second quarter, %d MB in the last", second>>20, last>>20)
	}
}

// resident watches the memory of a process that asks a simulated source for pages.
type resident struct {
	pages int // of the whole harvest

	mu    sync.Mutex
	pid   int
	asked int
	peaks [4]uint64 // in bytes, by quarter of the pages
}

func (r *resident) start(cmd *process.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := cmd.Start()
	if err == nil {
		r.pid = cmd.Process.Pid
	}
	return err
}

func (r *resident) beside(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.look()
		next.ServeHTTP(w, request)
	})
}

func (r *resident) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	quarter := min(4*r.asked/r.pages, 3)
	r.asked++
	bytes, err := statusBytes(r.pid, "VmRSS:")
	if err != nil {
		return // a quarter without a sample fails
	}
	r.peaks[quarter] = max(r.peaks[quarter], bytes)
}

// statusBytes is a size that the system tells of a process.
func statusBytes(pid int, name string) (uint64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := bytes.Cut(status, []byte(name))
	fields := bytes.Fields(after)
	if len(fields) < 2 {
		return 0, fmt.Errorf("no %s in the status of process %d", name, pid)
	}
	kb, err := strconv.ParseUint(string(fields[0]), 10, 64)
	return kb << 10, err
}
