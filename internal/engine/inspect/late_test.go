package inspect

import (
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/freshness"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// followed is crossref without a gap, read to 15 March, five days behind, with a schedule
// that fires every hour and whose last tick led to a plan an hour ago.
func followed(t *testing.T, maxLag time.Duration) *ledger {
	l := crossref(t)
	l.cursors[0].Instant = march(15)
	l.segments = map[int64][]coverage.Segment{1: {{Window: days(1, 15), Want: march(15), Have: march(15)}}}
	most := duration.Duration(maxLag)
	l.sources["crossref"].Alerts = &freshness.Config{MaxLag: &most}
	s, err := schedule.New("crossref/works/HARVEST", schedule.Config{Every: duration.Duration(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	l.jobs = []view.ScheduledJob{{
		Partition: ingest.Partition{Dataset: ingest.Dataset{Source: "crossref", Endpoint: "works"}, Operation: ingest.Harvest}, Schedule: s, AppliedAt: march(1),
		State: view.ScheduleState{LastTick: march(20).Add(-time.Hour), Followed: march(1), FiredAt: march(20).Add(-time.Hour)},
	}}
	l.moved = march(15)
	return l
}

// A source that is five days behind is a finding, and none when it has caught up.
func TestStatusTellsOfAWatermarkThatIsBehind(t *testing.T) {
	l := followed(t, 96*time.Hour)
	s := l.status(t, StatusQuery{})
	if got := codes(s); !slices.Equal(got, []view.FindingCode{view.FoundBehind}) {
		t.Fatalf("%v", got)
	}
	f := s.Findings[0]
	if f.Severity != view.Critical || f.Heals || !f.Since.Equal(march(19)) || f.Limit.Std() != 96*time.Hour || f.Next != "patra harvest crossref --endpoint works" || f.Late.LagSec != (120*time.Hour).Seconds() {
		t.Errorf("%+v", f)
	}
	l.cursors[0].Instant = march(20)
	if s := l.status(t, StatusQuery{}); len(s.Findings) > 0 {
		t.Errorf("caught up: %+v", s.Findings)
	}
}

// A clock was ahead while a source was harvested: the harvests are refused until that time has
// come, and the command that ends it is told. A tick that was refused for it is no finding beside it.
func TestStatusTellsOfAWatermarkThatIsAheadOfTheClock(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*ledger)
		want []view.FindingCode
	}{
		"read as of tomorrow": {func(l *ledger) {
			l.cursors[0].Instant, l.segments[1][1] = march(21), coverage.Segment{Window: days(14, 21), Want: march(21), Have: march(21)}
		}, []view.FindingCode{view.FoundAhead}},
		"planned as of tomorrow": {func(l *ledger) { l.segments[1][1].Want, l.open = march(21), []window.Window{days(1, 21)} }, []view.FindingCode{view.FoundAhead}},
		"and a tick was refused": {func(l *ledger) {
			l.segments[1][1] = coverage.Segment{Window: days(14, 15), Want: march(21), Have: march(21)}
			l.jobs[0].State.Refused = "the clock was ahead"
		}, []view.FindingCode{view.FoundAhead}},
		"a tick of an update was refused": {func(l *ledger) {
			l.segments[1][1] = coverage.Segment{Window: days(14, 15), Want: march(21), Have: march(21)}
			l.jobs[0].State.Refused, l.jobs[0].Partition.Operation = "no rights", ingest.Update
		}, []view.FindingCode{view.FoundAhead, view.FoundRefused}},
		"corrected by a second": {func(l *ledger) { l.segments[1][1].Have = march(20).Add(time.Second) }, nil},
	} {
		l := followed(t, 0)
		l.sources["crossref"].Alerts = nil
		l.cursors[0].Instant = march(20)
		l.segments[1] = []coverage.Segment{{Window: days(1, 14), Want: march(15), Have: march(15)}, {Window: days(14, 15), Want: march(15), Have: march(15)}}
		c.set(l)
		s := l.status(t, StatusQuery{})
		if !slices.Equal(codes(s), c.want) {
			t.Errorf("%s: %v", name, codes(s))
			continue
		}
		if len(c.want) == 0 {
			continue
		}
		f := s.Findings[0]
		if f.Severity != view.Critical || f.Heals || f.Next != "patra cursor set 1 --to 2025-03-14 --reason clock-was-ahead --yes" || f.Ahead.AheadSec != (24*time.Hour).Seconds() || !f.Ahead.AsOf.Equal(march(21)) {
			t.Errorf("%s: %+v, %+v", name, f, f.Ahead)
		}
	}
}

// What stands for half an hour after its tick is stalled; what moves, is worked on or was
// not asked for by a schedule is not.
func TestStatusTellsOfAWatermarkThatStands(t *testing.T) {
	stalled := []view.FindingCode{view.FoundStalled}
	for name, c := range map[string]struct {
		set   func(*ledger)
		want  []view.FindingCode
		heals bool
	}{
		"it stands":                  {func(*ledger) {}, stalled, false},
		"the tick fired just now":    {func(l *ledger) { l.jobs[0].State.FiredAt = march(20).Add(-29 * time.Minute) }, nil, false},
		"it moved just now":          {func(l *ledger) { l.moved = march(20).Add(-29 * time.Minute) }, nil, false},
		"a slice takes long":         {func(l *ledger) { l.workload = []view.Workload{{Source: "crossref", Endpoint: "works", Running: 1}} }, stalled, true},
		"no schedule":                {func(l *ledger) { l.jobs = nil }, nil, false},
		"no tick has fired":          {func(l *ledger) { l.jobs[0].State.FiredAt = time.Time{} }, nil, false},
		"it has read what it should": {func(l *ledger) { l.cursors[0].Instant = march(20).Add(-2 * time.Hour) }, nil, false},
	} {
		l := followed(t, 0)
		c.set(l)
		s := l.status(t, StatusQuery{})
		if !slices.Equal(codes(s), c.want) {
			t.Errorf("%s: %v", name, codes(s))
		}
		if len(s.Findings) > 0 && s.Findings[0].Heals != c.heals {
			t.Errorf("%s: heals %t", name, s.Findings[0].Heals)
		}
	}
}

// A lag that has a cause is a fact of it: one cause is one finding.
func TestStatusTellsALagWithItsCause(t *testing.T) {
	for name, set := range map[string]func(*ledger){
		"paused": func(l *ledger) { l.pauses = []ingest.Pause{{Scope: ingest.Scope{Source: "crossref"}}} },
		"a gap": func(l *ledger) {
			l.segments[1] = append(l.segments[1], coverage.Segment{Window: days(15, 16), Want: march(16), Fails: 1, RetryAfter: march(21)})
		},
		"no worker": func(l *ledger) {
			l.executors, l.workload = 0, []view.Workload{{Source: "crossref", Endpoint: "works", Waiting: 1}}
		},
		"a plan that is not taken": func(l *ledger) {
			l.idle = []view.IdlePlan{{ID: 9, Partition: l.jobs[0].Partition, Since: march(19)}}
		},
		"a plan whose turn should have come": func(l *ledger) {
			l.idle = []view.IdlePlan{{ID: 9, Partition: l.jobs[0].Partition, Since: march(19)}}
			l.workload = []view.Workload{{Source: "pubmed", Endpoint: "search", Running: 1}}
		},
	} {
		l := followed(t, time.Hour)
		set(l)
		s := l.status(t, StatusQuery{})
		if len(s.Findings) != 1 || s.Findings[0].Code == view.FoundBehind || s.Findings[0].Late == nil || s.Findings[0].Heals {
			t.Errorf("%s: %+v", name, s.Findings)
		}
	}
}

// A source without a schedule that was harvested every night is a finding when that stops, and
// none when it goes on, is paused, or says that its lag does not matter.
func TestStatusTellsOfAHarvestThatIsOverdue(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*ledger)
		want []view.FindingCode
	}{
		"it stopped":        {func(*ledger) {}, []view.FindingCode{view.FoundOverdue}},
		"it goes on":        {func(l *ledger) { l.starts = append([]time.Time{march(20)}, l.starts...) }, nil},
		"it was never kept": {func(l *ledger) { l.starts = l.starts[:2] }, nil},
		"paused":            {func(l *ledger) { l.pauses = []ingest.Pause{{Scope: ingest.Scope{Source: "crossref"}}} }, []view.FindingCode{view.FoundPaused}},
		"it does not matter": {func(l *ledger) {
			l.sources["crossref"].Alerts = &freshness.Config{MaxLag: new(duration.Duration(0))}
		}, nil},
	} {
		l := followed(t, 0)
		l.jobs, l.sources["crossref"].Alerts = nil, nil
		for day := 17; day > 5; day-- {
			l.starts = append(l.starts, march(day))
		}
		c.set(l)
		s := l.status(t, StatusQuery{})
		if !slices.Equal(codes(s), c.want) {
			t.Errorf("%s: %v", name, codes(s))
		}
		if name == "it stopped" && (s.Findings[0].Next != "patra harvest crossref --endpoint works" || !s.Findings[0].Since.Equal(march(17)) || s.Findings[0].Limit.Std() != 24*time.Hour) {
			t.Errorf("%+v", s.Findings[0])
		}
	}
}
