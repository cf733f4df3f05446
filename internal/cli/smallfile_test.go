package cli

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/testkit/need"
)

// Files that people name are read to a limit: a source file of gigabytes is none.
func TestTrust07FilesAreLimitedBeforeTheyAreRead(t *testing.T) {
	d := newDesk(t)
	d.empty()
	huge := d.write("huge.yaml", "source: huge\n")
	if err := os.Truncate(huge, 3<<30); err != nil {
		need.Missing(t, "no room for a sparse file: %v", err)
	}
	for _, args := range [][]string{
		{"source", "validate", huge}, {"source", "apply", huge}, {"source", "diff", huge}, {"source", "test", huge}, {"source", "render", huge},
		{"source", "render", "crossref", "--expr", huge}, {"events", "publish", "--events", huge}, {"events", "test", "x", "--events", huge},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := d.run(args...)
		runtime.ReadMemStats(&after)
		if got.code != term.ExitUsage || !strings.Contains(got.err, "is it the right file?") {
			t.Errorf("%v: exit code %d\n%s%s", args, got.code, got.out, got.err)
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 100 {
			t.Errorf("%v: %d MB were taken", args, used)
		}
	}
}
