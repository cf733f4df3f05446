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
// and not counted. It also tells how many records a second each tenth had, by the clock and
// by processor time: PATRA_BENCH_RECORDS=10000000 shows whether a large database slows down.
func TestProofMemoryFlat(t *testing.T) {
	if !proof() {
		t.Skip("harvests 1,000,000 records, which takes minutes; run it with: PATRA_PROOF=1 go test -run ProofMemoryFlat -v ./internal/testkit/bench")
	}
	const page = 1000
	size := works{days: 50, perDay: 20_000, bytes: 1000}
	if text := os.Getenv(recordsEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		size.days = max(4, n/size.perDay)
	}
	watched := &resident{t: t, pages: size.total() / page, page: page}
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
	if !bytes.Contains(output.Bytes(), fmt.Append(nil, size.total())) {
		t.Fatalf("it did not store %d records:\n%s", size.total(), output.String())
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
	t     *testing.T
	pages int // of the whole harvest
	page  int // records of a page

	mu    sync.Mutex
	pid   int
	asked int
	peaks [4]uint64 // in bytes, by quarter of the pages
	tenth int       // of the pages that are asked for now
	began time.Time // it did
	spent time.Duration
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
	if tenth := min(10*r.asked/r.pages, 10); tenth != r.tenth || r.began.IsZero() {
		r.tellSpeed(tenth)
	}
	bytes, err := statusBytes(r.pid, "VmRSS:")
	if err != nil {
		return // a quarter without a sample fails
	}
	r.peaks[quarter] = max(r.peaks[quarter], bytes)
}

// tellSpeed tells how fast a tenth was that ended.
func (r *resident) tellSpeed(next int) {
	now, spent := time.Now(), processorTime(r.pid)
	if !r.began.IsZero() {
		records := float64(r.pages) / 10 * float64(r.page)
		r.t.Logf("tenth %d: %.0f records/s, %.0f a second of processor time", next, records/now.Sub(r.began).Seconds(), records/(spent-r.spent).Seconds())
	}
	r.tenth, r.began, r.spent = next, now, spent
}

// processorTime is what a process has used so far; zero if that cannot be told.
func processorTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond // a tick of the system
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
