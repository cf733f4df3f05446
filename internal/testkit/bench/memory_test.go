package bench

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

const (
	maxHeap   = 200 << 20
	maxGrowth = 1.3 // of the last quarter's peak over the second's
)

// TestProofMemoryFlat harvests a million records and watches the memory. The
// first quarter is not compared: pools and caches fill in it.
func TestProofMemoryFlat(t *testing.T) {
	if !proof() {
		t.Skip("harvests 1,000,000 records, which takes minutes; run it with: PATRA_PROOF=1 go test -run ProofMemoryFlat -v ./internal/testkit/bench")
	}
	size := works{days: 50, perDay: 20_000, bytes: 1000}
	u := startUpstream(t, size, live)
	compiled := u.compile(t, "paging.size=1000")
	app, err := daemon.Open(t.Context(), daemon.Config{Database: freshSQLite(t).address, Workers: fetchers})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	runtime.GC()
	before := readMemory(t)
	t.Logf("before: %s (the simulated source included)", before)
	var peaks [4]memory
	done, err := app.Harvest(t.Context(), compiled, daemon.NewRequest(u.to().AddDate(0, 0, 1), u.from(), u.to()), daemon.Watch{
		Progress: func(p view.Progress) {
			quarter := min(4*p.Stats.Seen/size.total(), 3)
			peaks[quarter] = peaks[quarter].max(readMemory(t))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if done.Plan.Stats.Inserted != size.total() {
		t.Fatalf("inserted %d records of %d", done.Plan.Stats.Inserted, size.total())
	}
	for i, p := range peaks {
		t.Logf("peak in quarter %d: %s", i+1, p)
		if p.heap == 0 {
			t.Fatalf("quarter %d has no sample", i+1)
		}
		if p.heap > maxHeap {
			t.Errorf("heap of %s in quarter %d, want at most %d MB", p, i+1, maxHeap>>20)
		}
	}
	second, last := peaks[1], peaks[3]
	if float64(last.heap) > maxGrowth*float64(second.heap) || float64(last.rss) > maxGrowth*float64(second.rss) {
		t.Errorf("memory grows with the harvest: %s in the second quarter, %s in the last", second, last)
	}
}

// memory is what the process holds, in bytes.
type memory struct{ heap, rss uint64 }

func (m memory) max(o memory) memory { return memory{max(m.heap, o.heap), max(m.rss, o.rss)} }

func (m memory) String() string { return fmt.Sprintf("heap %d MB, RSS %d MB", m.heap>>20, m.rss>>20) }

func readMemory(tb testing.TB) memory {
	tb.Helper()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return memory{stats.HeapInuse, residentBytes(tb)}
}

// residentBytes is VmRSS, or zero where the system does not tell.
func residentBytes(tb testing.TB) uint64 {
	tb.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(status, []byte("VmRSS:"))
	fields := bytes.Fields(after)
	if len(fields) < 2 {
		tb.Error("no VmRSS in /proc/self/status")
		return 0
	}
	kb, err := strconv.ParseUint(string(fields[0]), 10, 64)
	if err != nil {
		tb.Error(err)
	}
	return kb << 10
}
