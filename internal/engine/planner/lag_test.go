package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// What counts as read before: only what was read, and only up to the watermark.
func TestPassed(t *testing.T) {
	march := func(from, to int) window.Window {
		return window.Window{From: at(fmt.Sprintf("2025-03-%02d", from)), To: at(fmt.Sprintf("2025-03-%02d", to))}
	}
	event := func(kind coverage.Kind, from, to int) coverage.Event {
		return coverage.Event{Kind: kind, Windows: []window.Window{march(from, to)}, AsOf: noon, At: noon, Lookback: 48 * time.Hour}
	}
	planned, read, failed, waived := coverage.Planned, coverage.Succeeded, coverage.Failed, coverage.Waived
	for name, c := range map[string]struct {
		events []coverage.Event
		want   window.Window
	}{
		"a first harvest": {nil, window.Window{}},
		"one that has read nothing yet": {
			[]coverage.Event{event(planned, 1, 4)}, window.Window{From: march(1, 4).From, To: march(1, 4).From},
		},
		"after a harvest":                   {[]coverage.Event{event(planned, 1, 4), event(read, 1, 4)}, march(1, 4)},
		"while the next one runs":           {[]coverage.Event{event(planned, 1, 4), event(read, 1, 4), event(planned, 2, 6)}, march(1, 4)},
		"with an owed window":               {[]coverage.Event{event(planned, 1, 6), event(read, 1, 3), event(failed, 3, 4), event(read, 4, 6)}, march(1, 3)},
		"when the owed window was read":     {[]coverage.Event{event(planned, 1, 6), event(read, 1, 3), event(failed, 3, 4), event(read, 4, 6), event(read, 3, 4)}, march(1, 6)},
		"a lookback before the first":       {[]coverage.Event{event(planned, 3, 6), event(read, 3, 6), event(planned, 1, 8), event(failed, 1, 3)}, march(3, 6)},
		"a waived window was not read":      {[]coverage.Event{event(planned, 1, 6), event(read, 1, 3), event(waived, 3, 4), event(read, 4, 6)}, march(4, 6)},
		"the watermark was set by somebody": {[]coverage.Event{event(planned, 1, 4), event(read, 1, 4), {Kind: coverage.Manual, Value: at("2025-03-09")}}, march(9, 9)},
	} {
		state := refold(c.events)
		if got := (Inputs{Own: state, Known: len(c.events) > 0}).passedWindow(); got != c.want {
			t.Errorf("%s: %v, want %v; %+v", name, got, c.want, state)
		}
	}
}

// Whatever happened: what counts as read before was read, and ends at the watermark.
func TestPassedWasRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var state coverage.State
		var read []window.Window
		for i := range rapid.IntRange(1, 30).Draw(t, "events") {
			from := at("2025-03-01").Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "from")) * time.Hour)
			e := coverage.Event{
				Kind: rapid.SampledFrom([]coverage.Kind{coverage.Planned, coverage.Succeeded, coverage.Succeeded, coverage.Failed, coverage.Waived}).Draw(t, "kind"),
				AsOf: noon.Add(time.Duration(i) * time.Minute), At: noon, Lookback: time.Duration(rapid.IntRange(0, 20).Draw(t, "lookback")) * time.Hour,
			}
			e.Windows = []window.Window{{From: from, To: from.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "hours")) * time.Hour)}}
			if i == 0 {
				e.Kind = coverage.Planned
			}
			if e.Kind == coverage.Succeeded {
				read = append(read, e.Windows...)
			}
			state = coverage.Fold(state, e)
		}
		passed := Inputs{Own: state, Known: true}.passedWindow()
		if !passed.To.Equal(state.Cursor) || len(window.Subtract(passed, read)) != 0 {
			t.Fatalf("%v counts as read before; read was %v, the watermark is %v", passed, window.Union(read), state.Cursor)
		}
	})
}

func TestOnlyAStampThatIsFollowedTellsLateness(t *testing.T) {
	for _, c := range []struct {
		name     string
		compiled *spec.Compiled
		want     bool
	}{
		{"crossref", crossref(t), true},
		{"a backfill", crossrefFor(t, ingest.Backfill), false},
		{"stamps of another date", crossref(t, "response.updatedAt=$.deposited['date-time']"), false},
	} {
		if got := measuresLate(c.compiled.Snapshot); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	s := crossref(t).Snapshot
	s.Response.Filtered = s.Response.ID
	if measuresLate(s) {
		t.Error("the filter selects by another field than the stamp")
	}
}

// The lag of a draft is that of its window, its slices and what is stored of it.
func TestDraftFollowsLateArrivals(t *testing.T) {
	c := crossref(t)
	b := Inputs{
		Known: true, Own: coverage.State{Origin: at("2025-03-01"), Cursor: at("2025-03-19"), Segments: []coverage.Segment{{
			Window: between("2025-03-01", "2025-03-19"), Want: at("2025-03-19"), Have: at("2025-03-19"),
		}}},
		Lateness: &window.Lateness{Late: 9, Changed: 900, Raised: 5 * time.Minute},
	}
	d, err := drawPlan(c, b, ask("a"))
	if err != nil {
		t.Fatal(err)
	}
	if !d.NowSafe.Equal(at("2025-03-20T11:20:00Z")) || !d.Window.To.Equal(d.NowSafe) || d.Lag.Value.String() != "PT40M" || d.Lag.Declared.String() != "PT30M" {
		t.Errorf("safe until %v, window %v, lag %+v", d.NowSafe, d.Window, d.Lag)
	}
	if late, lag := d.Explain[0], d.Explain[1]; late.Value != "9 of 900" || lag.Name != "safetyLag" || lag.Value != "PT40M" {
		t.Errorf("%+v, %+v", late, lag)
	}
	for _, cut := range d.cuts {
		if cut.Spec.Hints.SafetyLagSec != 2400 {
			t.Errorf("slice %v was planned with a lag of %d s", cut.Window, cut.Spec.Hints.SafetyLagSec)
		}
	}
	in, err := d.newPlan(c, ask("a"), 1)
	if err != nil {
		t.Fatal(err)
	}
	want := ingest.PlanLag{Declared: 30 * time.Minute, SafetyLag: 40 * time.Minute, Passed: between("2025-03-01", "2025-03-19")}
	if in.Lag == nil || *in.Lag != want || !in.AsOf.Equal(d.NowSafe) {
		t.Errorf("stored %+v as of %v, want %+v", in.Lag, in.AsOf, want)
	}
	var params struct{ SafetyLagSec int }
	if err := json.Unmarshal(in.SliceParams, &params); err != nil || params.SafetyLagSec != 2400 || !strings.Contains(string(in.SliceParams), `"step":"P1D"`) {
		t.Errorf("%s, %v", in.SliceParams, err)
	}
	if !strings.Contains(string(in.Remarks), "9 of 900") || *c.Snapshot.Window.SafetyLag != d.Lag.Declared {
		t.Errorf("remarks %s; the source declares %s now", in.Remarks, c.Snapshot.Window.SafetyLag)
	}
}

func TestOtherOperationsKeepTheDeclaredLag(t *testing.T) {
	for _, op := range []ingest.Operation{ingest.Backfill, ingest.Update} {
		c, r := crossrefFor(t, op), ask("a")
		r.From, r.To = ptr("2025-03-01"), ptr("2025-03-04")
		d, err := drawPlan(c, Inputs{Lateness: &window.Lateness{Late: 9, Changed: 900}}, r)
		if err != nil {
			t.Fatal(err)
		}
		in, err := d.newPlan(c, r, 1)
		if err != nil {
			t.Fatal(err)
		}
		if in.Lag != nil || d.Lag != (window.Lag{}) || !d.NowSafe.Equal(at("2025-03-20T11:30:00Z")) {
			t.Errorf("%s: %+v, safe until %v", op, in.Lag, d.NowSafe)
		}
	}
}

// hourly makes a plan an hour after the one before and ends its tasks; the first
// of them found items.
type hourly struct {
	*testing.T
	store *store.Store
	now   time.Time
	plans int
}

func newHourly(t *testing.T) *hourly {
	h := &hourly{T: t, now: noon}
	path := filepath.Join(t.TempDir(), "patra.db")
	localstore.Place(t, path)
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Relaxed: true}, store.Options{Clock: func() time.Time { return h.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	h.store = s
	return h
}

func (h *hourly) plan(c *spec.Compiled, found ingest.BatchStats) *Draft {
	h.Helper()
	h.plans++
	h.now = h.now.Add(time.Hour)
	r := ask(fmt.Sprint("plan", h.plans))
	r.Now = h.now
	dry := h.draft(c, r)
	if again := h.draft(c, r); !bytes.Equal(dry, again) {
		h.Fatalf("drawn twice:\n%s\n%s", dry, again)
	}
	p, d := plan(h.T, h.store, c, r)
	if stored := h.text(d); !bytes.Equal(dry, stored) {
		h.Fatalf("the dry run said\n%s, the plan\n%s", dry, stored)
	}
	for _, task := range queue(h.T, h.store, p.ID) {
		h.end(task.ID, found)
		found = ingest.BatchStats{}
	}
	return d
}

func (h *hourly) draft(c *spec.Compiled, r Request) []byte {
	h.Helper()
	d, err := New(h.store).Draft(h.Context(), c, r)
	if err != nil {
		h.Fatal(err)
	}
	return h.text(d)
}

func (h *hourly) text(d *Draft) []byte {
	h.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		h.Fatal(err)
	}
	return text
}

// end ends a queued task, whichever it is, as an executor would.
func (h *hourly) end(n int64, found ingest.BatchStats) {
	h.Helper()
	ctx := h.Context()
	queues, err := h.store.Queues(ctx)
	if err != nil || len(queues) != 1 {
		h.Fatalf("%d queues, %v", len(queues), err)
	}
	claim := ingest.ClaimRequest{PartitionID: queues[0].PartitionID, Owner: "test", Token: fmt.Sprint("task-", n), Lease: time.Minute, Max: 1}
	work, err := h.store.Claim(ctx, claim)
	if err != nil || len(work) != 1 {
		h.Fatalf("%d tasks, %v", len(work), err)
	}
	w := work[0]
	run, err := h.store.StartRun(ctx, w, time.Minute)
	if err != nil {
		h.Fatal(err)
	}
	w.Lineage.RunID = run.ID
	o := ingest.Outcome{Task: ingest.TaskSucceeded, Run: ingest.RunSucceeded, Stats: ingest.RunStats{BatchStats: found}}
	if err := h.store.FinishRun(ctx, ingest.Finish{Lease: w.Lease, Lineage: w.Lineage, Outcome: o}); err != nil {
		h.Fatal(err)
	}
}

// Late arrivals push the lag up plan by plan to its bound, a share in between
// keeps it, a small one and a quiet week bring it back.
func TestLagFromPlanToPlan(t *testing.T) {
	h, c := newHourly(t), crossref(t, "window.maxSafetyLag=PT42M")
	var lags []string
	next := func(late, changed int) {
		t.Helper()
		d := h.plan(c, ingest.BatchStats{Seen: changed, Inserted: changed, Late: late})
		if want := h.now.Add(-d.Lag.Value.Std()); !d.NowSafe.Equal(want) || !d.Window.To.Equal(want) {
			t.Errorf("safe until %v, window %v, want %v", d.NowSafe, d.Window, want)
		}
		lags = append(lags, d.Lag.Value.String())
	}
	next(50, 50) // a first harvest measures nothing
	next(1, 150)
	next(2, 200) // the share of 1 in 150 is one of too few
	next(0, 0)   // 3 in 350 is more than 0.5 %
	next(0, 0)
	next(0, 0)
	next(0, 600)
	next(0, 5000) // 3 in 950
	next(0, 0)    // 3 in 5950 is less than 0.1 %
	next(0, 0)
	if want := "PT30M PT30M PT30M PT35M PT40M PT42M PT42M PT42M PT41M PT40M"; strings.Join(lags, " ") != want {
		t.Errorf("lags %v, want %s", lags, want)
	}
	h.now = h.now.Add(window.LatenessSpan)
	for range 11 {
		next(0, 0)
	}
	if want := "PT39M PT38M PT37M PT36M PT35M PT34M PT33M PT32M PT31M PT30M PT30M"; strings.Join(lags[10:], " ") != want {
		t.Errorf("after a quiet week %v, want %s", lags[10:], want)
	}
}

// A lag that somebody declares anew holds at once, with what was added to it.
func TestANewlyDeclaredLagHolds(t *testing.T) {
	h := newHourly(t)
	late := ingest.BatchStats{Seen: 900, Inserted: 900, Late: 9}
	h.plan(crossref(t), late)
	h.plan(crossref(t), late)
	h.plan(crossref(t), late)
	if d := h.plan(crossref(t, "window.safetyLag=PT5M"), late); d.Lag.Value.String() != "PT15M" {
		t.Errorf("%+v", d.Lag)
	}
	if d := h.plan(crossref(t, "window.maxSafetyLag=PT0S"), late); d.Lag.Value.String() != "PT30M" {
		t.Errorf("%+v", d.Lag)
	}
}

// refold is the book after all events of a ledger.
func refold(events []coverage.Event) (s coverage.State) {
	for _, e := range events {
		s = coverage.Fold(s, e)
	}
	return s
}
