package daemon

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/upsim"
)

// together starts harvests of one window in as many processes at once, and
// returns what each of them did.
func (l *library) together(database string, n int, request func(i int) (now time.Time, from *time.Time), settings ...string) []Harvested {
	l.Helper()
	c := l.compile(append([]string{"paging.size=10"}, settings...)...)
	apps := make([]*App, n)
	for i := range apps {
		app, err := Open(l.Context(), Config{Database: database, Relaxed: true, Workers: 1})
		l.must(err)
		l.Cleanup(func() { app.Close() })
		app.identity.ID = fmt.Sprintf("%s-%03d", app.identity.ID, i)
		apps[i] = app
	}
	out, failures := make([]Harvested, n), make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, app := range apps {
		all.Go(func() {
			now, from := request(i)
			<-start
			out[i], failures[i] = app.Harvest(l.Context(), c, NewRequest(now, from, nil), Watch{})
		})
	}
	close(start)
	all.Wait()
	for i, err := range failures {
		if err != nil {
			l.Errorf("harvest %d: %v", i, err)
		}
	}
	return out
}

func (l *library) plans() []view.Plan {
	l.Helper()
	plans, err := l.app.store.Plans(l.Context(), view.Filter{Limit: 1000})
	l.must(err)
	return plans
}

// noGaps: everything up to the watermark is covered.
func (l *library) noGaps() {
	l.Helper()
	cursors, err := l.app.store.Cursors(l.Context(), "crossref")
	l.must(err)
	for _, c := range cursors {
		segments, err := l.app.store.Segments(l.Context(), c.ID)
		l.must(err)
		if gaps := coverage.Gaps(segments, window.Window{From: c.Origin, To: segments[len(segments)-1].Window.To}); len(gaps) > 0 {
			l.Errorf("gaps %v", gaps)
		}
		if v, err := l.app.store.Verify(l.Context(), c.ID); err != nil || len(v.Problems) > 0 {
			l.Errorf("%+v, %v", v, err)
		}
	}
}

// Harvests of one window that start together read it once: one plans, the others
// join its plan, and each tells the outcome of that plan.
func TestBelieve15HarvestsThatStartTogetherShareOnePlan(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		n := 50
		if strings.HasPrefix(database, "sqlite:") {
			n = 6 // one of them executes, the others follow
		}
		begin := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
		l := newLibrary(t, database, upsim.Config{Seed: 7, From: begin, To: begin.AddDate(0, 0, 2), PerDay: 1000, Flat: true}, "")
		// Their clocks are read a moment apart, and one of the later ones may be first.
		done := l.together(database, n, func(i int) (time.Time, *time.Time) {
			return begin.AddDate(0, 0, 2).Add(time.Duration(i*7%n) * 100 * time.Millisecond), &begin
		})
		const once = 2000 / 10
		asked := l.server.Requests()
		t.Logf("%d harvests made %d requests in %d plans; one needs about %d", n, asked, len(l.plans()), once)
		if asked > once+once/10 {
			t.Errorf("%d requests of %d harvests, want about %d", asked, n, once)
		}
		if plans := l.plans(); len(plans) != 1 {
			t.Errorf("%d plans", len(plans))
		}
		for i, h := range done {
			if h.Plan.Done != h.Plan.Total || h.Plan.Total == 0 || h.Plan.Slices[string(ingest.SliceSucceeded)] != h.Plan.Total || h.Draft == nil || h.Draft.Window == nil {
				t.Errorf("harvest %d: %+v", i, h.Plan)
			}
			if j := h.Joined; j != nil && (j.By == "" || j.At.IsZero()) {
				t.Errorf("harvest %d is not told whose plan it joined: %+v", i, j)
			}
		}
		l.hasAll(begin, begin.AddDate(0, 0, 2).Add(-time.Hour))
		l.noGaps()
	})
}

// Who joins a plan ends with its outcome, also where that is a failure.
func TestBelieve15JoinedPlanThatFailsIsAFailure(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		begin := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
		l := newLibrary(t, database, upsim.Config{Seed: 7, From: begin, To: begin.AddDate(0, 0, 1), PerDay: 100, Flat: true}, "bad-date@page:3;slow@*:delay=300ms")
		joined := 0
		for i, h := range l.together(database, 4, func(int) (time.Time, *time.Time) { return begin.AddDate(0, 0, 1), &begin }, "response.maxRejectRate=0") {
			if h.Joined != nil {
				joined++
			}
			late := h.Joined == nil && h.Plan.Total == 0 && len(h.Draft.Waiting) > 0 // the plan had failed before this one began
			if h.Plan.Slices[string(ingest.SliceSucceeded)] == h.Plan.Total && !late {
				t.Errorf("harvest %d says that all went well: %+v", i, h.Plan)
			}
		}
		t.Logf("%d joined, %d plans", joined, len(l.plans()))
	})
}

// A planner that died after it had stored its plan leaves it without slices: the
// next harvest slices it to its end and joins it.
func TestBelieve15PlanOfADeadPlannerIsJoined(t *testing.T) {
	file := filepath.Join(t.TempDir(), "patra.db")
	begin := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
	l := newLibrary(t, "sqlite:"+file, upsim.Config{Seed: 7, From: begin, To: begin.AddDate(0, 0, 3), PerDay: 100, Flat: true}, "")
	c := l.compile("paging.size=10")
	l.now = begin.AddDate(0, 0, 3)
	plan, _, err := l.app.Planner.Plan(t.Context(), c, NewRequest(l.now, &begin, nil))
	l.must(err)
	for _, undo := range []string{"DELETE FROM ing_task", "DELETE FROM ing_plan_slice", "UPDATE ing_plan SET status_code = 'SLICING', next_slice_no = 1"} {
		_, err := sqlExec(file, undo)
		l.must(err)
	}
	h := l.harvest(c, &begin)
	if h.Joined == nil || h.Joined.PlanID != plan.ID || len(l.plans()) != 1 {
		t.Errorf("%+v, %d plans", h.Joined, len(l.plans()))
	}
	l.hasAll(begin, begin.AddDate(0, 0, 3).Add(-time.Hour))
	l.noGaps()
}

// A harvest after one that has ended reads anew: something may have changed.
func TestBelieve15NextHarvestPlansAnew(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		begin := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
		l := newLibrary(t, database, upsim.Config{Seed: 7, From: begin, To: begin.AddDate(0, 0, 1), PerDay: 100, Flat: true}, "")
		c := l.compile("paging.size=50")
		l.now = begin.AddDate(0, 0, 1)
		l.harvest(c, &begin)
		_, err := l.data.Add("10.5555/late", l.now.Add(-time.Hour))
		l.must(err)
		if h := l.harvest(c, &begin); h.Joined != nil || h.Plan.Stats.Inserted != 1 {
			t.Errorf("%+v, %+v", h.Joined, h.Plan.Stats)
		}
	})
}

// A plan that another process worked on when this harvest began is waited for first.
// If it turns out to read the same, its figures count once.
func TestBelieve15JoinedPlanCountsOnce(t *testing.T) {
	h := &Harvested{Continued: []view.Progress{{PlanID: 6}, {PlanID: 7}}}
	(&sharing{app: openRawApp(t, RawConfig{Off: true}), draft: &PlanDraft{}}).joinPlan(t.Context(), &ingest.LivePlan{ID: 7}, Watch{}, h)
	if len(h.Continued) != 1 || h.Continued[0].PlanID != 6 || h.Joined == nil || h.Joined.PlanID != 7 {
		t.Errorf("%+v, %+v", h.Continued, h.Joined)
	}
}
