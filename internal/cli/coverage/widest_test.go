package coverage

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// A window between odd instants and a long reason must still fit a terminal.
func TestWidestGap(t *testing.T) {
	odd := window.Window{From: time.Date(2025, 3, 1, 11, 30, 15, 123456000, time.UTC), To: time.Date(2025, 3, 2, 11, 30, 15, 654321000, time.UTC)}
	var out strings.Builder
	e := &term.Env{Out: &out, Err: &out, Output: "table"}
	if err := term.PrintList(e, []wording.ToldGap{{Endpoint: "works", Window: odd, Reason: "failed 12 times, retry from 2025-03-02T11:30:15Z"}}, gapColumns()); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 120 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
