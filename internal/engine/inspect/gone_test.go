package inspect

import (
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// gone is a process that was last heard of an hour ago.
func gone(roles string) view.Process {
	return view.Process{ID: "a", Host: "attic", PID: 7, Roles: roles, Since: march(10), HeardAt: march(20).Add(-time.Hour), AliveUntil: march(20).Add(-59 * time.Minute)}
}

// calm is crossref without anything to find.
func calm(t *testing.T) *ledger {
	l := followed(t, 0)
	l.cursors[0].Instant = march(20)
	return l
}

// A process that ended without shutting down is one finding, with what waits for it; it calls
// nobody where others do its work, and ends with its successor.
func TestStatusTellsOfAProcessThatIsGone(t *testing.T) {
	waiting := []view.Workload{{Source: "crossref", Endpoint: "works", Operation: "HARVEST", Waiting: 3}}
	found := []view.FindingCode{view.FoundGone}
	for name, c := range map[string]struct {
		set   func(*ledger)
		want  []view.FindingCode
		heals bool
		next  string
	}{
		"nothing does its work": {func(l *ledger) {
			l.executors, l.workload, l.processes = 0, waiting, []view.Process{gone("executor,planner")}
		}, found, false, "patra serve"},
		"another works": {func(l *ledger) { l.processes = []view.Process{gone("executor")} }, found, true, "patra serve"},
		"no other plans": {func(l *ledger) {
			l.processes = []view.Process{gone("planner")}
			l.jobs[0].State.LastTick = march(20).Add(-90 * time.Minute)
			l.now = march(20).Add(2 * time.Hour)
		}, found, false, "patra serve --roles planner"},
		"no other plans, and it was silent before": {func(l *ledger) {
			l.processes = []view.Process{gone("planner")}
			l.jobs[0].State.LastTick = march(19)
		}, []view.FindingCode{view.FoundSilent, view.FoundGone}, false, ""},
		"it has a successor": {func(l *ledger) {
			l.processes = []view.Process{gone("executor"), {ID: "b", Roles: "executor,planner", Since: march(20), AliveUntil: march(20)}}
		}, nil, false, ""},
		"a backfill was killed": {func(l *ledger) {
			l.executors, l.processes = 0, []view.Process{gone("executor")}
			l.campaigns = []ingest.Campaign{{NewCampaign: ingest.NewCampaign{Name: "early", Dataset: ingest.Dataset{Source: "crossref", Endpoint: "works"}}, State: ingest.CampaignActive, CursorID: 9}}
		}, found, false, "patra backfill crossref --name early"},
		"yesterday, and nothing waits": {func(l *ledger) {
			p := gone("executor")
			p.HeardAt = march(18)
			l.executors, l.processes = 0, []view.Process{p}
		}, nil, false, ""},
		"yesterday, and tasks wait": {func(l *ledger) {
			p := gone("executor")
			p.HeardAt = march(18)
			l.executors, l.workload, l.processes = 0, waiting, []view.Process{p}
		}, found, false, "patra serve --roles executor"},
	} {
		l := calm(t)
		c.set(l)
		s := l.status(t, StatusQuery{})
		if !slices.Equal(codes(s), c.want) {
			t.Errorf("%s: %v, want %v", name, codes(s), c.want)
			continue
		}
		if len(s.Findings) == 1 && (s.Findings[0].Heals != c.heals || s.Findings[0].Next != c.next) {
			t.Errorf("%s: heals %t, next %q", name, s.Findings[0].Heals, s.Findings[0].Next)
		}
	}
}

// The finding names what waits, and takes the lag that follows from it.
func TestStatusTellsWhatWaitsForAProcess(t *testing.T) {
	l := followed(t, 48*time.Hour)
	l.executors, l.processes = 0, []view.Process{gone("executor")}
	l.workload = []view.Workload{{Source: "crossref", Endpoint: "works", Operation: "HARVEST", Waiting: 3}}
	s := l.status(t, StatusQuery{})
	if len(s.Findings) != 1 || s.Findings[0].Code != view.FoundGone {
		t.Fatalf("%+v", s.Findings)
	}
	f := s.Findings[0]
	if f.Count != 3 || !slices.Equal(f.Gone.Sources, []string{"crossref"}) || f.Late == nil || !f.Since.Equal(march(20).Add(-time.Hour)) || f.Subject.Process != "a" {
		t.Errorf("%+v %+v", f, f.Gone)
	}
	if len(l.status(t, StatusQuery{Source: "crossref"}).Findings) != 1 {
		t.Error("whoever asks for the source does not hear of it")
	}
}

// A plan that no process takes is a finding, unless something says why.
func TestStatusTellsOfAPlanThatIsIdle(t *testing.T) {
	of := ingest.Partition{Dataset: ingest.Dataset{Source: "crossref", Endpoint: "works"}, Operation: ingest.Harvest}
	idle := []view.FindingCode{view.FoundPlanIdle}
	load := func(running int, cooling time.Time) []view.Workload {
		return []view.Workload{{Source: "crossref", Endpoint: "works", Operation: "HARVEST", Waiting: 3, Running: running, CoolingUntil: cooling}}
	}
	for name, c := range map[string]struct {
		set   func(*ledger)
		want  []view.FindingCode
		heals bool
	}{
		"for half an hour":           {func(*ledger) {}, idle, false},
		"not for long":               {func(l *ledger) { l.idle[0].Since = march(20).Add(-29 * time.Minute) }, nil, false},
		"its partition is worked on": {func(l *ledger) { l.workload = load(1, time.Time{}) }, nil, false},
		"it waits for a limit":       {func(l *ledger) { l.workload = load(0, march(21)) }, nil, false},
		"others are worked on": {func(l *ledger) {
			l.workload = append(load(0, time.Time{}), view.Workload{Source: "other", Endpoint: "works", Operation: "HARVEST", Running: 1})
		}, idle, true},
		"its requests are used up": {func(l *ledger) {
			l.held = []view.HeldPlan{{ID: l.idle[0].ID, Partition: l.idle[0].Partition, Tasks: 2}}
		}, []view.FindingCode{view.FoundPlanHeld}, false},
		"its requests are used up, and no process": {func(l *ledger) {
			l.held = []view.HeldPlan{{ID: l.idle[0].ID, Partition: l.idle[0].Partition, Tasks: 2}}
			l.executors, l.workload = 0, load(0, time.Time{})
			l.workload[0].Waiting = 2
		}, []view.FindingCode{view.FoundPlanHeld}, false},
		"paused":     {func(l *ledger) { l.pauses = []ingest.Pause{{Scope: ingest.Scope{Source: "crossref"}}} }, []view.FindingCode{view.FoundPaused}, false},
		"no process": {func(l *ledger) { l.executors, l.workload = 0, load(0, time.Time{}) }, []view.FindingCode{view.FoundNoWorker}, false},
		"in trouble": {func(l *ledger) {
			l.conditions = []view.Condition{{Source: "crossref", Endpoint: "works", Condition: "UPSTREAM_DOWN", Level: 1, Until: march(20)}}
		}, []view.FindingCode{view.FoundCondition}, true},
		"two of them": {func(l *ledger) { l.idle = append(l.idle, l.idle[0]) }, idle, false},
	} {
		l := calm(t)
		l.idle = []view.IdlePlan{{ID: 9, Partition: of, Since: march(20).Add(-30 * time.Minute)}}
		c.set(l)
		s := l.status(t, StatusQuery{})
		if !slices.Equal(codes(s), c.want) || len(s.Findings) == 1 && s.Findings[0].Heals != c.heals {
			t.Errorf("%s: %+v, want %v", name, s.Findings, c.want)
		}
	}
}
