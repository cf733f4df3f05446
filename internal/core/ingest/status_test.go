package ingest

import (
	"fmt"
	"slices"
	"testing"
)

// machine is one of the status machines, as texts.
type machine struct {
	name    string
	states  []string
	start   []string
	legal   map[string][]string // as drawn in D§5.3, written down a second time
	becomes func(from, to string) bool
}

func machines() []machine {
	return []machine{
		{
			name:   "task",
			states: []string{"SCHEDULED", "QUEUED", "DISPATCHED", "EXECUTING", "SUCCEEDED", "FAILED", "PARTIAL", "CANCELLED"},
			start:  []string{"SCHEDULED", "QUEUED"},
			legal: map[string][]string{
				"SCHEDULED":  {"QUEUED", "CANCELLED"},
				"QUEUED":     {"SCHEDULED", "DISPATCHED", "CANCELLED"},
				"DISPATCHED": {"SCHEDULED", "QUEUED", "EXECUTING", "FAILED", "CANCELLED"},
				"EXECUTING":  {"SCHEDULED", "QUEUED", "SUCCEEDED", "FAILED", "PARTIAL", "CANCELLED"},
				"FAILED":     {"SCHEDULED", "QUEUED"},
				"CANCELLED":  {"QUEUED"},
				"PARTIAL":    {"FAILED"},
			},
			becomes: func(from, to string) bool { return TaskStatus(from).CanBecome(TaskStatus(to)) },
		},
		{
			name:   "run",
			states: []string{"PLANNED", "RUNNING", "SUCCEEDED", "FAILED", "PARTIAL", "CANCELLED"},
			start:  []string{"PLANNED", "RUNNING"},
			legal: map[string][]string{
				"PLANNED": {"RUNNING", "CANCELLED"},
				"RUNNING": {"SUCCEEDED", "FAILED", "PARTIAL", "CANCELLED"},
			},
			becomes: func(from, to string) bool { return RunStatus(from).CanBecome(RunStatus(to)) },
		},
		{
			name:   "slice",
			states: []string{"PENDING", "READY", "SUCCEEDED", "FAILED", "PARTIAL", "CANCELLED"},
			start:  []string{"PENDING", "READY"},
			legal: map[string][]string{
				"PENDING":   {"READY", "CANCELLED"},
				"READY":     {"SUCCEEDED", "FAILED", "PARTIAL", "CANCELLED"},
				"FAILED":    {"READY"},
				"CANCELLED": {"READY"},
				"PARTIAL":   {"FAILED"},
			},
			becomes: func(from, to string) bool { return SliceStatus(from).CanBecome(SliceStatus(to)) },
		},
		{
			name:   "plan",
			states: []string{"DRAFT", "SLICING", "READY", "PARTIAL", "FAILED", "CANCELLED", "COMPLETED"},
			start:  []string{"DRAFT"},
			legal: map[string][]string{
				"DRAFT":     {"SLICING", "FAILED", "CANCELLED", "COMPLETED"},
				"SLICING":   {"READY", "PARTIAL", "FAILED", "CANCELLED"},
				"PARTIAL":   {"SLICING", "READY", "FAILED", "CANCELLED"},
				"READY":     {"FAILED", "CANCELLED", "COMPLETED"},
				"COMPLETED": {"READY"},
			},
			becomes: func(from, to string) bool { return PlanStatus(from).CanBecome(PlanStatus(to)) },
		},
	}
}

func TestStatusMachines(t *testing.T) {
	for _, m := range machines() {
		for _, from := range append(slices.Clone(m.states), "", "UNHEARD") {
			for _, to := range append(slices.Clone(m.states), "", "UNHEARD") {
				if want := slices.Contains(m.legal[from], to); m.becomes(from, to) != want {
					t.Errorf("%s %q → %q: legal %v, want %v", m.name, from, to, !want, want)
				}
			}
		}
	}
}

// A state nobody can reach is a mistake in the drawing.
func TestEveryStatusCanBeReached(t *testing.T) {
	for _, m := range machines() {
		reached := slices.Clone(m.start)
		for i := 0; i < len(reached); i++ {
			for _, to := range m.states {
				if m.becomes(reached[i], to) && !slices.Contains(reached, to) {
					reached = append(reached, to)
				}
			}
		}
		for _, s := range m.states {
			if !slices.Contains(reached, s) {
				t.Errorf("%s: %s cannot be reached", m.name, s)
			}
			if m.becomes(s, s) {
				t.Errorf("%s: %s may become itself: a repeated step would not be noticed", m.name, s)
			}
		}
	}
}

// A leased task must be able to go back to the queue, a terminal one needs
// nothing, and no task is both.
func TestLeasedAndTerminalTasks(t *testing.T) {
	for _, text := range machines()[0].states {
		s := TaskStatus(text)
		if s.Leased() && (s.Terminal() || !s.CanBecome(TaskQueued) || !s.CanBecome(TaskScheduled)) {
			t.Errorf("%s is leased and cannot be put back", s)
		}
		if want := slices.Contains([]string{"DISPATCHED", "EXECUTING"}, text); s.Leased() != want {
			t.Errorf("%s: leased %v", s, s.Leased())
		}
		if want := slices.Contains([]string{"SUCCEEDED", "FAILED", "PARTIAL", "CANCELLED"}, text); s.Terminal() != want {
			t.Errorf("%s: terminal %v", s, s.Terminal())
		}
	}
}

func TestOperations(t *testing.T) {
	var last int
	for _, text := range []string{"HARVEST", "UPDATE", "BACKFILL"} {
		op, err := ParseOperation(text)
		if err != nil || op.Priority() <= last {
			t.Errorf("%s: priority %d after %d, %v", text, op.Priority(), last, err)
		}
		last = op.Priority()
		if want := map[bool]string{true: "BACKFILL", false: "FORWARD"}[op == Backfill]; op.Direction() != want {
			t.Errorf("%s goes %s", op, op.Direction())
		}
	}
	for _, text := range []string{"", "harvest", "METRICS", "HARVEST "} {
		if op, err := ParseOperation(text); err == nil {
			t.Errorf("%q was read as %s", text, op)
		}
	}
}

func TestIdentities(t *testing.T) {
	seen := map[string]string{}
	note := func(name, key string) {
		t.Helper()
		if len(key) != 64 {
			t.Errorf("%s: key %q", name, key)
		}
		if other, taken := seen[key]; taken {
			t.Errorf("%s has the key of %s", name, other)
		}
		seen[key] = name
	}
	for _, l := range []Lease{{TaskID: 1, Epoch: 1}, {TaskID: 1, Epoch: 11}, {TaskID: 11, Epoch: 1}, {TaskID: 2, Epoch: 1}} {
		for _, no := range []int{1, 2, 11} {
			name := fmt.Sprintf("task %d epoch %d batch %d", l.TaskID, l.Epoch, no)
			key := BatchCommit{Lease: l, No: no}.Key()
			note(name, key)
			if same := (BatchCommit{Lease: l, No: no, Pass: 3, PageNo: 9, BeforeToken: "x"}).Key(); same != key {
				t.Errorf("%s: pass, page or token are part of its identity", name)
			}
			// D§5.5: a page that failed stands where it would have stood.
			if failed := (Finish{Lease: l, Failed: &FailedBatch{No: no}}).FailedKey(); failed != key {
				t.Errorf("%s: failed under another key", name)
			}
		}
	}
	d := Dataset{"crossref", "works"}
	a, b := HarvestNamespace(d, "indexed", "expr1"), HarvestNamespace(d, "indexed", "expr2")
	note("namespace of an expression", a.Key)
	note("namespace of another expression", b.Key)
	note("namespace of another endpoint", HarvestNamespace(Dataset{"crossref", "journals"}, "indexed", "expr1").Key)
	if a.Scope != ScopeExpr || a.Operation != Harvest || a.CursorKey != "indexed" || a.Source != "crossref" {
		t.Errorf("%+v", a)
	}
}
