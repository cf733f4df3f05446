package inspect

import (
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// A schedule that is refused, or does not fire, is a finding with the lag it leads to, and
// none beside the pause that is its cause.
func TestStatusTellsOfSchedules(t *testing.T) {
	silent := func(l *ledger) { l.jobs[0].State.LastTick = march(19) }
	for name, c := range map[string]struct {
		set  func(*ledger)
		want []view.FindingCode
	}{
		"it fires":    {func(l *ledger) { l.cursors[0].Instant = march(20) }, nil},
		"refused":     {func(l *ledger) { l.jobs[0].State.Refused = "E-X: no" }, []view.FindingCode{view.FoundRefused}},
		"silent":      {silent, []view.FindingCode{view.FoundSilent}},
		"never begun": {func(l *ledger) { l.jobs[0].State = view.ScheduleState{} }, []view.FindingCode{view.FoundSilent}},
		"just applied": {func(l *ledger) {
			l.jobs[0].State, l.jobs[0].AppliedAt, l.cursors[0].Instant = view.ScheduleState{}, march(20), march(20)
		}, nil},
		"a tick waits for its plan": {func(l *ledger) {
			silent(l)
			l.cursors[0].Instant = march(20)
			l.workload = []view.Workload{{Source: "crossref", Endpoint: "works", Operation: "HARVEST", Running: 1}}
		}, nil},
		"refused because it is paused": {func(l *ledger) {
			l.jobs[0].State.Refused = "crossref is paused"
			l.pauses = []ingest.Pause{{Scope: ingest.Scope{Source: "crossref"}}}
		}, []view.FindingCode{view.FoundPaused}},
		"refused while it was paused": {func(l *ledger) {
			l.jobs[0].State.Refused, l.jobs[0].State.Paused, l.cursors[0].Instant = "crossref is paused", true, march(20)
		}, nil},
		"refused before it was mended": {func(l *ledger) {
			l.jobs[0].State.Refused, l.jobs[0].AppliedAt, l.cursors[0].Instant = "E-X: no", march(20), march(20)
		}, nil},
	} {
		l := followed(t, 48*time.Hour)
		c.set(l)
		s := l.status(t, StatusQuery{})
		if !slices.Equal(codes(s), c.want) {
			t.Errorf("%s: %v, want %v", name, codes(s), c.want)
		}
		for _, f := range s.Findings {
			if f.Heals || f.Next == "" || f.Late == nil {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}
