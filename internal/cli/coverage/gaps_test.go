package coverage

import (
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

func TestGapReasons(t *testing.T) {
	b := inspect.EndpointCoverage{Source: "s", Endpoint: "e", Segments: []coverage.Segment{
		{Window: window.Window{From: march(1), To: march(2)}, Want: march(9), Have: march(9)},
		{Window: window.Window{From: march(2), To: march(3)}, Want: march(9)},
		{Window: window.Window{From: march(4), To: march(5)}, Want: march(9), Have: march(8)},
		{Window: window.Window{From: march(5), To: march(6)}, Want: march(9), Fails: 3, RetryAfter: march(9)},
	}}
	var got []string
	for _, g := range wording.TellGaps(b.Gaps(window.Window{From: march(1), To: march(7)}, false)) {
		got = append(got, wording.WindowText(g.Window)+" "+string(g.State)+" "+g.Reason)
	}
	want := []string{
		"[2025-03-02, 2025-03-03) OWED never read, planned as of 2025-03-09T00:00:00Z",
		"[2025-03-03, 2025-03-04) NOT_ASKED never asked for",
		"[2025-03-04, 2025-03-05) REOPENED read as of 2025-03-08T00:00:00Z, wanted again as of 2025-03-09T00:00:00Z",
		"[2025-03-05, 2025-03-06) FAILED failed 3 times, retry from 2025-03-09T00:00:00Z",
		"[2025-03-06, 2025-03-07) NOT_ASKED never asked for",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
