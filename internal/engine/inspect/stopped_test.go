package inspect

import (
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/health"
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

// Tasks that are given up and the gap they leave have one cause, and are one finding. Where no
// task failed, or another operation is in trouble, both are told.
func TestStatusTellsTasksThatAreGivenUpWithTheirGap(t *testing.T) {
	for name, c := range map[string]struct {
		of   view.Condition
		want []view.FindingCode
	}{
		"of the harvest":  {view.Condition{Source: "crossref", Endpoint: "works", Operation: "HARVEST", Condition: health.DeadTasks, Level: 1}, []view.FindingCode{view.FoundGap}},
		"circuit is open": {view.Condition{Source: "crossref", Endpoint: "works", Condition: health.Down, Level: 3}, []view.FindingCode{view.FoundGap}},
		"of an update":    {view.Condition{Source: "crossref", Endpoint: "works", Operation: "UPDATE", Condition: health.DeadTasks, Level: 1}, []view.FindingCode{view.FoundCondition, view.FoundGap}},
		"of another one":  {view.Condition{Source: "crossref", Endpoint: "journals", Operation: "HARVEST", Condition: health.DeadTasks, Level: 1}, []view.FindingCode{view.FoundCondition, view.FoundGap}},
		"another trouble": {view.Condition{Source: "crossref", Endpoint: "works", Operation: "HARVEST", Condition: health.Slow, Level: 1}, []view.FindingCode{view.FoundCondition, view.FoundGap}},
	} {
		l := crossref(t)
		l.open = []window.Window{days(3, 4)}
		l.tasks = []view.Task{{ID: 7, Window: days(2, 3), Source: "crossref", Operation: "HARVEST", Status: string(ingest.TaskFailed), ErrorCode: "REJECT_RATE"}}
		l.conditions = []view.Condition{c.of}
		s := l.status(t, StatusQuery{})
		got := codes(s)
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
		if len(c.want) == 1 && !strings.Contains(wording.FindingText(s.Findings[0], s.Now), wording.ConditionText(c.of)) {
			t.Errorf("%s: %s", name, wording.FindingText(s.Findings[0], s.Now))
		}
	}
}

// Items of ranges that failed are told with these, and with the stop that left them. Items of a
// range that was read are told apart.
func TestStatusTellsRejectedItemsWithTheirRange(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*ledger)
		want []view.FindingCode
	}{
		"all of failed ranges": {func(*ledger) {}, []view.FindingCode{view.FoundGap}},
		"one of another range": {func(l *ledger) {
			l.quarantined = append(l.quarantined, view.Marked{Window: days(9, 10), Count: 1})
		}, []view.FindingCode{view.FoundGap, view.FoundQuarantined}},
		"one of an archived plan": {func(l *ledger) { l.rejects[ingest.Dataset{Source: "crossref", Endpoint: "works"}]++ }, []view.FindingCode{view.FoundGap, view.FoundQuarantined}},
		"and the source stopped itself": {func(l *ledger) {
			l.pauses = []ingest.Pause{{Scope: ingest.Scope{Source: "crossref"}, Actor: ingest.ByItself}}
		}, []view.FindingCode{view.FoundPaused}},
	} {
		l := crossref(t)
		l.segments[1] = []coverage.Segment{{Window: days(1, 5), Want: march(20), Have: march(20)}, {Window: days(5, 7), Want: march(20), Fails: 1, RetryAfter: march(21)}}
		l.rejects = map[ingest.Dataset]int64{{Source: "crossref", Endpoint: "works"}: 3}
		l.quarantined = []view.Marked{{Window: days(5, 6), Count: 2}, {Window: days(6, 7), Count: 1}}
		c.set(l)
		s := l.status(t, StatusQuery{})
		got := codes(s)
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
			continue
		}
		if told := strings.Contains(wording.FindingText(s.Findings[0], s.Now), "3 items are in quarantine because of it"); told != (len(c.want) == 1) {
			t.Errorf("%s: %s", name, wording.FindingText(s.Findings[0], s.Now))
		}
	}
}
