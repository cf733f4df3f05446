package cursor

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

// A watermark with fractions of a second must still fit a terminal.
func TestWidestVerdict(t *testing.T) {
	var out strings.Builder
	e := &term.Env{Out: &out, Err: &out, Output: "table"}
	if err := term.PrintList(e, []view.Verdict{{Cursor: view.Cursor{ID: 12, Source: "a-source-with-a-long-code", Operation: "BACKFILL", Value: "2025-03-02T11:30:15.654321Z"}, Problems: []string{"x"}}}, verdictColumns()); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 120 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
