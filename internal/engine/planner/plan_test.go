package planner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

func database(t *testing.T) *store.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "patra.db")
	localstore.Place(t, path)
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Relaxed: true}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// dying is a store whose planner dies before some call of AddSlices.
type dying struct {
	*store.Store
	after int // calls that still work
}

var errDied = errors.New("the planner died")

func (d *dying) AddSlices(ctx context.Context, planID int64, chunk []ingest.NewSlice, last bool) error {
	if d.after == 0 {
		return errDied
	}
	d.after--
	return d.Store.AddSlices(ctx, planID, chunk, last)
}

func resumed(t *testing.T, s Store, o ingest.OpenPlan) error {
	t.Helper()
	_, err := New(s).Resume(t.Context(), ingest.Partition{Dataset: ingest.Dataset{Source: "crossref", Endpoint: "works"}, Operation: ingest.Harvest}, o)
	return err
}

// queue is what is stored for one plan: its tasks must tile what it owes.
func queue(t *testing.T, s *store.Store, planID int64) []view.Task {
	t.Helper()
	tasks, err := s.Tasks(t.Context(), view.Filter{PlanID: planID, Limit: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

func onlyPlan(t *testing.T, s *store.Store) view.Plan {
	t.Helper()
	plans, err := s.Plans(t.Context(), view.Filter{})
	if err != nil || len(plans) != 1 {
		t.Fatalf("%d plans, %v", len(plans), err)
	}
	return plans[0]
}

func plan(t *testing.T, s Store, c *spec.Compiled, r Request) (ingest.Plan, *Draft) {
	t.Helper()
	p, d, err := New(s).Plan(t.Context(), c, r)
	if err != nil {
		t.Fatal(err)
	}
	return p, d
}

// finish ends up to n queued tasks as an executor would, without an upstream.
func finish(t *testing.T, s *store.Store, n int) {
	t.Helper()
	endTasks(t, s, n, ingest.Outcome{Task: ingest.TaskSucceeded, Run: ingest.RunSucceeded})
}

func endTasks(t *testing.T, s *store.Store, n int, o ingest.Outcome) {
	t.Helper()
	ctx := t.Context()
	for i := range n {
		queues, err := s.Queues(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(queues) == 0 {
			return
		}
		work, err := s.Claim(ctx, ingest.ClaimRequest{PartitionID: queues[0].PartitionID, Owner: "test", Token: fmt.Sprint("claim-", i), Lease: time.Minute, Max: 1})
		if err != nil || len(work) != 1 {
			t.Fatalf("%d tasks, %v", len(work), err)
		}
		w := work[0]
		run, err := s.StartRun(ctx, w, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		w.Lineage.RunID = run.ID
		if err := s.FinishRun(ctx, ingest.Finish{Lease: w.Lease, Lineage: w.Lineage, Outcome: o}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPlanIsStored(t *testing.T) {
	s, c := database(t), crossref(t)
	p, d := plan(t, s, c, ask("a"))
	stored := onlyPlan(t, s)
	if stored.ID != p.ID || stored.Status != "READY" || *stored.Window != *d.Window || !stored.AsOf.Equal(d.NowSafe) || stored.SpecFingerprint != c.Fingerprint {
		t.Errorf("%+v", stored)
	}
	tasks := queue(t, s, p.ID)
	if len(tasks) != len(d.Slices) {
		t.Fatalf("%d tasks for %d slices", len(tasks), len(d.Slices))
	}
	for i, task := range tasks { // newest first
		want := d.Slices[len(d.Slices)-1-i]
		if !task.Window.From.Equal(want.From) || !task.Window.To.Equal(want.To) || task.Status != "QUEUED" || task.Priority != 10 || task.Spec != c.Fingerprint {
			t.Errorf("task %+v for slice %+v", task, want)
		}
	}
}

// I8, F47: the same trigger is the same plan, right away, after its work is
// done, and when it is asked again later in the day.
func TestTheSameTriggerTwiceIsOnePlan(t *testing.T) {
	for name, bounds := range map[string]func(*Request){
		"no bounds": func(*Request) {},
		"from":      func(r *Request) { r.From = ptr("2025-03-01") },
		"both":      func(r *Request) { r.From, r.To = ptr("2025-03-01"), ptr("2025-03-04") },
	} {
		t.Run(name, func(t *testing.T) {
			s, c, r := database(t), crossref(t), ask("a")
			bounds(&r)
			first, d := plan(t, s, c, r)
			again := func(when string) {
				t.Helper()
				if second, _ := plan(t, s, c, r); second.ID != first.ID || second.Key != first.Key {
					t.Errorf("%s: plan %d, the first was %d", when, second.ID, first.ID)
				}
				onlyPlan(t, s)
				if n := len(queue(t, s, first.ID)); n != len(d.Slices) {
					t.Errorf("%s: %d tasks for %d slices", when, n, len(d.Slices))
				}
			}
			again("at once")
			finish(t, s, 100)
			again("after its work was done")
			r.Now = r.Now.Add(time.Hour)
			again("an hour later")
		})
	}
}

func TestAnotherTriggerIsAnotherPlan(t *testing.T) {
	s, c := database(t), crossref(t)
	first, _ := plan(t, s, c, ask("a"))
	second, _ := plan(t, s, c, ask("b"))
	if first.ID == second.ID || first.ScheduleID == second.ScheduleID {
		t.Errorf("%+v and %+v", first, second)
	}
}

// F47, P14: a planner that died at any point is completed by the same trigger,
// with the windows it had, even if tasks of it have ended meanwhile.
func TestPlanThatDiedIsCompleted(t *testing.T) {
	const days = 2100 // three chunks
	r := ask("a")
	r.Now = noon
	from := noon.AddDate(0, 0, -days)
	r.From = &from
	c := crossref(t)
	// How many chunks were stored, and whether work on them had begun.
	for after, worked := range map[int]bool{0: false, 1: true, 2: false, 3: false} {
		s := database(t)
		_, drawn, err := New(&dying{s, after}).Plan(t.Context(), c, r)
		if !errors.Is(err, errDied) {
			t.Fatalf("after %d chunks: %v", after, err)
		}
		if worked {
			finish(t, s, 5)
		}
		plan(t, s, c, r)
		stored := onlyPlan(t, s)
		tasks := queue(t, s, stored.ID)
		if stored.Status != "READY" || len(tasks) != len(drawn.Slices) {
			t.Fatalf("after %d chunks: %s with %d tasks for %d slices", after, stored.Status, len(tasks), len(drawn.Slices))
		}
		for i, task := range tasks {
			if want := drawn.Slices[len(tasks)-1-i]; !task.Window.From.Equal(want.From) || !task.Window.To.Equal(want.To) {
				t.Fatalf("after %d chunks: task %v for slice %v", after, task.Window, want)
			}
		}
	}
}

// The same without the trigger: whoever finds an open plan can finish it.
func TestResume(t *testing.T) {
	s, c := database(t), crossref(t)
	if _, _, err := New(&dying{s, 0}).Plan(t.Context(), c, ask("a")); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	partition := ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: ingest.Harvest}
	for range 2 { // finishing twice is finishing once
		open, err := s.OpenPlans(t.Context(), partition)
		if err != nil || len(open) != 1 {
			t.Fatalf("%d open plans, %v", len(open), err)
		}
		if err := resumed(t, s, open[0]); err != nil {
			t.Fatal(err)
		}
	}
	if p := onlyPlan(t, s); p.Status != "READY" || len(queue(t, s, p.ID)) != 2 {
		t.Errorf("%+v", p)
	}
}

// D§5.16: an empty window is a plan without slices, complete at once, and the
// next harvest is not disturbed by it.
func TestEmptyPlanIsStored(t *testing.T) {
	s, c, r := database(t), crossref(t), ask("a")
	r.From = ptr("2025-03-20T11:59:00Z")
	for range 2 {
		p, d := plan(t, s, c, r)
		if !d.Empty || len(queue(t, s, p.ID)) != 0 {
			t.Errorf("%+v", d)
		}
	}
	if p := onlyPlan(t, s); p.Status != "COMPLETED" || p.Window != nil || len(p.Remarks) == 0 {
		t.Errorf("%+v", p)
	}
	if _, d := plan(t, s, c, ask("b")); d.Empty {
		t.Errorf("the next harvest: %+v", d)
	}
}

// What a second plan asks for after the first was worked off: the lookback and
// the new, while the same instant again finds only the lookback.
func TestSecondPlanSkipsWhatIsSettled(t *testing.T) {
	s, c, r := database(t), crossref(t), ask("a")
	r.From = ptr("2025-03-01")
	_, first := plan(t, s, c, r)
	finish(t, s, 100)
	r = ask("b")
	_, second := plan(t, s, c, r)
	if *second.Window != between("2025-03-19T11:30:00Z", "2025-03-20T11:30:00Z") || len(second.Slices) != 2 || len(first.Slices) != 20 {
		t.Errorf("first %d slices, second %v with %d", len(first.Slices), second.Window, len(second.Slices))
	}
}

// A draft looks and does not touch.
func TestDraftWritesNothing(t *testing.T) {
	s, c := database(t), crossref(t)
	for range 2 {
		if d, err := New(s).Draft(t.Context(), c, ask("a")); err != nil || len(d.Slices) != 2 {
			t.Fatalf("%+v %v", d, err)
		}
	}
	if plans, err := s.Plans(t.Context(), view.Filter{}); err != nil || len(plans) != 0 {
		t.Errorf("%d plans, %v", len(plans), err)
	}
}

// Bad input is refused before anything is written, the trigger included.
func TestBadRequestWritesNothing(t *testing.T) {
	s, r := database(t), ask("a")
	r.From, r.To = ptr("2025-03-04"), ptr("2025-03-01")
	if _, _, err := New(s).Plan(t.Context(), crossref(t), r); err == nil {
		t.Fatal("a reversed window was planned")
	}
	id, err := s.RecordTrigger(t.Context(), ingest.Trigger{Key: "first", Scheduler: "TEST", Type: ingest.TriggerManual, At: noon, Source: "crossref"})
	if err != nil || id != 1 {
		t.Errorf("a trigger was recorded before: %d %v", id, err)
	}
}

// §12.4: what the source cannot do stands in the plan, for whoever wonders later.
func TestDegradationsAreRemarkedInThePlan(t *testing.T) {
	s, c := database(t), crossref(t)
	c.Warnings = []spec.Warning{{Code: "W-NO-TOTAL", Message: "the upstream announces no total"}}
	plan(t, s, c, ask("a"))
	if p := onlyPlan(t, s); !strings.Contains(string(p.Remarks), `"degradation":[{"code":"W-NO-TOTAL"`) {
		t.Errorf("remarks %s", p.Remarks)
	}
}
