package planner

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
)

// crossref is the bundled source with a few settings changed.
func crossref(t *testing.T, settings ...string) *spec.Compiled {
	t.Helper()
	return crossrefFor(t, ingest.Harvest, settings...)
}

func crossrefFor(t *testing.T, op ingest.Operation, settings ...string) *spec.Compiled {
	t.Helper()
	return bundled(t, "crossref", "works", op, settings...)
}

func bundled(t *testing.T, name, endpoint string, op ingest.Operation, settings ...string) *spec.Compiled {
	t.Helper()
	text, err := catalog.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	source, _, err := registry.Decode(catalog.File(name), text)
	if err != nil {
		t.Fatal(err)
	}
	if name == "crossref" { // most of these tests are about days
		simulated.ByDay(source)
	}
	var set []registry.Override
	for _, s := range settings {
		o, err := registry.ParseOverride(s)
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, o)
	}
	resolved, err := registry.Resolve(source, endpoint, string(op), set)
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.Compile(resolved)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(text string) time.Time {
	t, err := window.ParseInstant(text)
	if err != nil {
		panic(err)
	}
	return t
}

func ptr(text string) *time.Time {
	t := at(text)
	return &t
}

func between(from, to string) window.Window { return window.Window{From: at(from), To: at(to)} }

// noon of 20 March: with crossref's lag of half an hour, 11:30 is safe.
var noon = at("2025-03-20T12:00:00Z")

func ask(trigger string) Request {
	return Request{Now: noon, TriggerKey: trigger, Scheduler: "TEST", Type: ingest.TriggerManual}
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// tiles is I1: slices, skips and what waits make up the window, without a gap
// and without an overlap.
func tiles(t failer, d *Draft) {
	t.Helper()
	parts := slices.Concat(d.Skipped, d.Waiting)
	for _, s := range d.Slices {
		parts = append(parts, window.Window{From: s.From, To: s.To})
	}
	slices.SortFunc(parts, func(a, b window.Window) int { return a.From.Compare(b.From) })
	next := d.Window.From
	for _, p := range parts {
		if !p.From.Equal(next) || p.Empty() {
			t.Fatalf("%v does not start at %v; all parts %v of %v", p, next, parts, d.Window)
		}
		next = p.To
	}
	if !next.Equal(d.Window.To) {
		t.Fatalf("the parts end at %v, the window is %v", next, d.Window)
	}
}

func TestFirstHarvest(t *testing.T) {
	d, err := drawPlan(crossref(t), Inputs{}, ask("a"))
	if err != nil {
		t.Fatal(err)
	}
	if *d.Window != between("2025-03-19T11:30:00Z", "2025-03-20T11:30:00Z") || !d.NowSafe.Equal(at("2025-03-20T11:30:00Z")) || d.Empty {
		t.Errorf("window %v, safe %v", d.Window, d.NowSafe)
	}
	tiles(t, d.Draft)
	// The filter knows days only: the cut is at midnight.
	if len(d.Slices) != 2 || !d.Slices[0].To.Equal(at("2025-03-20")) {
		t.Errorf("slices %+v", d.Slices)
	}
	if d.Summary() != "2 slices over [2025-03-19T11:30:00Z, 2025-03-20T11:30:00Z)" {
		t.Errorf("summary %q", d.Summary())
	}
}

// What W§3.2 asks for is in the draft, under the names users read.
func TestDraftAsJSON(t *testing.T) {
	r := ask("a")
	r.From, r.To = ptr("2025-03-01"), ptr("2025-03-04")
	d, err := drawPlan(crossref(t), Inputs{}, r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Source, Endpoint, Operation string
		Window                      struct{ From, To string }
		NowSafe                     string
		Empty                       *bool
		Explain                     []struct{ Step, Value, Why string }
		Skipped, Waiting            []any
		Slices                      []struct{ From, To, Signature string }
		SpecFingerprint             string
		ExprProtoHash               string
		Warnings                    []spec.Warning
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Source != "crossref" || got.Endpoint != "works" || got.Operation != "HARVEST" || got.Window.From != "2025-03-01T00:00:00Z" || got.Window.To != "2025-03-04T00:00:00Z" ||
		got.NowSafe != "2025-03-20T11:30:00Z" || got.Empty == nil || len(got.SpecFingerprint) != 64 || len(got.ExprProtoHash) != 64 {
		t.Errorf("%s", text)
	}
	if len(got.Slices) != 3 || got.Slices[1].From != "2025-03-02T00:00:00Z" || got.Slices[1].To != "2025-03-03T00:00:00Z" || len(got.Slices[1].Signature) != 64 {
		t.Errorf("slices %+v", got.Slices)
	}
	if got.Skipped == nil || got.Waiting == nil || got.Warnings == nil {
		t.Errorf("an empty list is not null: %s", text)
	}
	var steps []string
	for _, s := range got.Explain {
		if s.Value == "" || s.Why == "" {
			t.Errorf("step %q says nothing", s.Step)
		}
		steps = append(steps, s.Step)
	}
	want := "lateArrivals safetyLag nowSafe userTo toCandidate cursor lookback lowerByCursor userFrom defaultFrom fromCandidate earliest firstUnsettled align from to result"
	if strings.Join(steps, " ") != want {
		t.Errorf("steps %v, want %s", steps, want)
	}
}

func TestRequestedBounds(t *testing.T) {
	c := crossref(t)
	for _, x := range []struct {
		name     string
		from, to *time.Time
		want     string // window, "empty", or "error"
	}{
		{"both", ptr("2025-03-01"), ptr("2025-03-04"), "[2025-03-01T00:00:00Z, 2025-03-04T00:00:00Z)"},
		{"from only", ptr("2025-03-18"), nil, "[2025-03-18T00:00:00Z, 2025-03-20T11:30:00Z)"},
		{"to only", nil, ptr("2025-03-20"), "[2025-03-19T11:30:00Z, 2025-03-20T00:00:00Z)"},
		{"to in the future", ptr("2025-03-19"), ptr("2025-04-01"), "[2025-03-19T00:00:00Z, 2025-03-20T11:30:00Z)"},
		{"from before the source began", ptr("1990-01-01"), ptr("2000-01-03"), "[2000-01-01T00:00:00Z, 2000-01-03T00:00:00Z)"},
		{"from not yet safe", ptr("2025-03-20T11:45:00Z"), nil, "empty"},
		{"from in the future", ptr("2025-04-01"), nil, "empty"},
		{"to before the default start", nil, ptr("2025-03-01"), "empty"},
		{"reversed", ptr("2025-03-04"), ptr("2025-03-01"), "error"},
		{"equal", ptr("2025-03-04"), ptr("2025-03-04"), "error"},
		{"to before the source began", ptr("1990-01-01"), ptr("1995-01-01"), "error"},
	} {
		r := ask("a")
		r.From, r.To = x.from, x.to
		d, err := drawPlan(c, Inputs{}, r)
		got := "error"
		switch {
		case err == nil && d.Empty:
			got = "empty"
		case err == nil:
			got = d.Window.String()
			tiles(t, d.Draft)
		}
		if got != x.want {
			t.Errorf("%s: %s, want %s (%v)", x.name, got, x.want, err)
		}
	}
}

// D§5.16: nothing to do is a result with a reason.
func TestEmptyWindow(t *testing.T) {
	r := ask("a")
	r.From = ptr("2025-03-20T11:30:00Z")
	d, err := drawPlan(crossref(t), Inputs{}, r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"empty":true`, `"window":null`, `"slices":[]`, `"reason":"the start 2025-03-20T11:30:00Z is not before`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is not in %s", part, text)
		}
	}
	if len(d.Explain) == 0 || !strings.HasPrefix(d.Summary(), "nothing to do: ") {
		t.Errorf("%q, %v", d.Summary(), d.Explain)
	}
}

// after is the book once a harvest of a stretch was planned at an instant and
// its slices ended as told.
func after(book coverage.State, c *spec.Compiled, w window.Window, asOf time.Time, ends ...coverage.Event) coverage.State {
	book = coverage.Fold(book, coverage.Event{Kind: coverage.Planned, Windows: []window.Window{w}, AsOf: asOf, At: asOf, Lookback: c.Snapshot.Window.Lookback.Std()})
	for _, e := range ends {
		e.AsOf = asOf
		book = coverage.Fold(book, e)
	}
	return book
}

func ended(kind coverage.Kind, w window.Window, at time.Time) coverage.Event {
	return coverage.Event{Kind: kind, Windows: []window.Window{w}, At: at}
}

func TestNextHarvestSkipsWhatIsSettled(t *testing.T) {
	c := crossref(t)
	first := between("2025-03-01", "2025-03-20T11:30:00Z")
	book := after(coverage.State{}, c, first, first.To, ended(coverage.Succeeded, first, noon))
	r := ask("b")
	r.Now = noon.Add(24 * time.Hour)
	d, err := drawPlan(c, Inputs{Own: book, Known: true}, r)
	if err != nil {
		t.Fatal(err)
	}
	// One day of lookback below what was read, and what is new.
	if *d.Window != between("2025-03-19T11:30:00Z", "2025-03-21T11:30:00Z") || len(d.Skipped) != 0 || len(d.Slices) != 3 {
		t.Errorf("window %v, skipped %v, slices %v", d.Window, d.Skipped, d.Slices)
	}
	// W§3.2: the later of cursor and request counts, so asking for all of March
	// does not read what is settled again.
	r.From = ptr("2025-03-01")
	if d, err = drawPlan(c, Inputs{Own: book, Known: true}, r); err != nil || d.Window.From != at("2025-03-19T11:30:00Z") {
		t.Errorf("window %v, %v", d.Window, err)
	}
}

// A hole left by a failed slice is owed again when its time has come, and is
// listed as waiting until then; what lies around it is skipped.
func TestFailedStretchWaitsAndComesBack(t *testing.T) {
	c := crossref(t)
	first, hole := between("2025-03-01", "2025-03-20T11:30:00Z"), between("2025-03-05", "2025-03-06")
	book := after(coverage.State{}, c, first, first.To,
		ended(coverage.Succeeded, between("2025-03-01", "2025-03-05"), noon),
		ended(coverage.Succeeded, between("2025-03-06", "2025-03-20T11:30:00Z"), noon),
		ended(coverage.Failed, hole, noon))
	if !book.Cursor.Equal(hole.From) {
		t.Fatalf("cursor %v", book.Cursor)
	}
	r := ask("b")
	r.Now = noon.Add(30 * time.Second) // the first retry is due after a minute
	d, err := drawPlan(c, Inputs{Own: book, Known: true}, r)
	if err != nil {
		t.Fatal(err)
	}
	tiles(t, d.Draft)
	if len(d.Waiting) != 1 || d.Waiting[0] != hole {
		t.Errorf("waiting %v", d.Waiting)
	}
	for _, s := range d.Slices {
		if hole.Contains(s.From) {
			t.Errorf("%v is asked for before its time", s)
		}
	}
	r.Now = noon.Add(2 * time.Minute)
	if d, err = drawPlan(c, Inputs{Own: book, Known: true}, r); err != nil {
		t.Fatal(err)
	}
	tiles(t, d.Draft)
	if len(d.Waiting) != 0 || !slices.ContainsFunc(d.Slices, func(s DraftSlice) bool { return s.From.Equal(hole.From) && s.To.Equal(hole.To) }) {
		t.Errorf("the hole is not asked for again: waiting %v, slices %v", d.Waiting, d.Slices)
	}
	if len(d.Skipped) == 0 || slices.ContainsFunc(d.Slices, func(s DraftSlice) bool { return s.From.Equal(at("2025-03-10")) }) {
		t.Errorf("what is settled is read again: skipped %v", d.Skipped)
	}
}

// Nothing but a waiting stretch: the plan is empty and says why.
func TestOnlyWaiting(t *testing.T) {
	c := crossref(t)
	hole := between("2025-03-05", "2025-03-06")
	book := after(coverage.State{}, c, hole, at("2025-03-20T11:30:00Z"), ended(coverage.Failed, hole, noon))
	r := ask("b")
	r.From, r.To = ptr("2025-03-05"), ptr("2025-03-06")
	d, err := drawPlan(c, Inputs{Own: book, Known: true}, r)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Empty || len(d.Slices) != 0 || len(d.Waiting) != 1 || !strings.Contains(d.Reason, "waits") {
		t.Errorf("%+v", d)
	}
}

// Whatever the past was: the draft is the same bytes again, tiles its window
// (I1), and cuts on the grid of the filter.
func TestDrawIsAPureFunction(t *testing.T) {
	sources := []*spec.Compiled{crossref(t), crossref(t, "window.mode=CALENDAR", "window.align=DAY", "slicing.step=P3D"), crossref(t, "filter.precision=SECOND", "slicing.step=PT5H")}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(sources).Draw(t, "source")
		instant := func(name string) time.Time {
			return at("2025-03-01").Add(time.Duration(rapid.Int64Range(0, int64(20*24*time.Hour)).Draw(t, name))).Truncate(time.Microsecond)
		}
		var book coverage.State
		for range rapid.IntRange(0, 6).Draw(t, "events") {
			a, b := instant("from"), instant("to")
			if !a.Before(b) {
				continue
			}
			kind := rapid.SampledFrom([]coverage.Kind{coverage.Planned, coverage.Succeeded, coverage.Failed, coverage.Waived}).Draw(t, "kind")
			book = coverage.Fold(book, coverage.Event{Kind: kind, Windows: []window.Window{{From: a, To: b}}, AsOf: instant("asOf"), At: instant("at"), Lookback: c.Snapshot.Window.Lookback.Std()})
		}
		r := ask("a")
		r.Now = instant("now").Add(24 * time.Hour)
		if rapid.Bool().Draw(t, "userFrom") {
			from := instant("asked from")
			r.From = &from
		}
		d, err := drawPlan(c, Inputs{Own: book, Known: true}, r)
		if err != nil {
			t.Fatalf("%v", err)
		}
		again, err := drawPlan(c, Inputs{Own: book, Known: true}, r)
		if err != nil {
			t.Fatalf("%v", err)
		}
		x, _ := json.Marshal(d)
		y, _ := json.Marshal(again)
		if string(x) != string(y) {
			t.Fatalf("two drafts differ:\n%s\n%s", x, y)
		}
		if d.Empty {
			if len(d.Slices) != 0 || d.Reason == "" {
				t.Fatalf("empty with %d slices, reason %q", len(d.Slices), d.Reason)
			}
			return
		}
		tiles(t, d.Draft)
		signatures := map[string]bool{}
		for _, s := range d.Slices {
			if signatures[s.Signature] {
				t.Fatalf("two slices with one signature: %v", s)
			}
			signatures[s.Signature] = true
			for _, edge := range []time.Time{s.From, s.To} {
				onGrid := c.Snapshot.Filter.Cut(edge).Equal(edge)
				isEnd := slices.ContainsFunc(d.owed, func(w window.Window) bool { return w.From.Equal(edge) || w.To.Equal(edge) })
				if !onGrid && !isEnd {
					t.Fatalf("%v is neither on the grid nor an end of what is owed", edge)
				}
			}
		}
	})
}
