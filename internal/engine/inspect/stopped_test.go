package inspect

import (
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// A source that stopped itself is one finding, with the ranges that wait for its end. Where a
// person paused it, the gap is told apart.
func TestStatusTellsASourceThatStoppedItselfOnce(t *testing.T) {
	for name, c := range map[string]struct {
		pause ingest.Pause
		want  []view.FindingCode
	}{
		"by itself":               {ingest.Pause{Scope: ingest.Scope{Source: "crossref"}, Actor: ingest.ByItself, Reason: "UNAUTHORIZED"}, []view.FindingCode{view.FoundPaused}},
		"its endpoint, by itself": {ingest.Pause{Scope: ingest.Scope{Source: "crossref", Endpoint: "works"}, Actor: ingest.ByItself}, []view.FindingCode{view.FoundPaused}},
		"by a person":             {ingest.Pause{Scope: ingest.Scope{Source: "crossref"}, Actor: "ann"}, []view.FindingCode{view.FoundGap, view.FoundPaused}},
	} {
		l := crossref(t)
		l.open = []window.Window{days(3, 4)}
		l.pauses = []ingest.Pause{c.pause}
		s := l.status(t, StatusQuery{})
		got := codes(s)
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
			continue
		}
		text := wording.FindingText(s.Findings[len(s.Findings)-1], s.Now)
		if told := strings.Contains(text, "1 range is missing until then"); told != (len(c.want) == 1) {
			t.Errorf("%s: %s", name, text)
		}
		if len(s.Sources[0].Gaps) != 1 {
			t.Errorf("%s: the gap is not shown with its source", name)
		}
	}
}
