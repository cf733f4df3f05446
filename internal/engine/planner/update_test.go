package planner

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

func step(d *Draft, name string) window.Step {
	for _, s := range d.Explain {
		if s.Name == name {
			return s
		}
	}
	return window.Step{}
}

// pubmed is a bundled source that is asked for ids.
func pubmed(t *testing.T, settings ...string) *spec.Compiled {
	t.Helper()
	return bundled(t, "pubmed", "articles", ingest.Update, settings...)
}

const month = duration.Duration(30 * 24 * time.Hour)

func stale(r Request) Request {
	r.Refresh.Spec = refresh.Spec{Policy: refresh.ByAge, Cycle: month}
	return r
}

func counted(n int64) Inputs { return Inputs{Candidates: Candidates{Count: n, Exact: true}} }

// W§5.2, §4.14: one day of turns is a thirtieth of the records of a month.
func TestUpdateByAge(t *testing.T) {
	c := pubmed(t, "slicing.targetRecords=1000")
	d := drawn(t, c, counted(3500), stale(ask("a")))
	if d.Empty || *d.Window != between("2025-03-19T12:00:00Z", "2025-03-20T12:00:00Z") || !d.NowSafe.Equal(noon) || len(d.Slices) != 4 {
		t.Fatalf("%s, %d slices", d.Window, len(d.Slices))
	}
	tiles(t, d.Draft)
	for _, s := range d.Slices {
		shares := refresh.Shares(window.Window{From: s.From, To: s.To}, month.Std())
		if g := s.Range; g == nil || g.Kind != slicing.Hash || len(shares) != 1 || g.From != shares[0].From || g.To != shares[0].To || !g.AsOf.Equal(noon) {
			t.Fatalf("%+v", s)
		}
	}
	if f := d.Forecast; f.Requests.Value < 18 || f.Requests.Value > 24 || f.Endpoints[0].Role != "DETAIL" {
		t.Errorf("%+v", f)
	}
	if own := d.namespace; own.Operation != ingest.Update || own.Scope != ingest.ScopeCustom || own.Line() != ingest.CursorTime || own.CursorKey != "refresh_checked_at" {
		t.Errorf("%+v", own)
	}
	if d.strategy != slicing.IDRange || step(d.Draft, "candidates").Value != "3500" {
		t.Errorf("%s, %v", d.strategy, d.Explain)
	}
	text, err := json.Marshal(d.cuts[0].Spec)
	if err != nil || !strings.Contains(string(text), `"refresh":{"policy":"STALE","cycle":"P30D"}`) {
		t.Errorf("%s, %v", text, err)
	}
	// Without a word a source that is asked for ids has its own cycle, others read time again.
	if d := drawn(t, c, counted(1), ask("a")); d.refresh == nil || d.refresh.Cycle != month {
		t.Errorf("%+v", d.refresh)
	}
	if d := drawn(t, pubmed(t, "details.every=P7D"), counted(1), ask("a")); d.refresh.Cycle.Std() != 7*24*time.Hour {
		t.Errorf("%+v", d.refresh)
	}
}

// Turns that were taken are not taken again; what failed is, and a day nobody ran
// an update is made up for.
func TestUpdateByAgeGoesOn(t *testing.T) {
	c := pubmed(t)
	book := refold([]coverage.Event{
		{Kind: coverage.Planned, Windows: []window.Window{between("2025-03-10", "2025-03-15")}, AsOf: at("2025-03-15"), At: at("2025-03-15")},
		{Kind: coverage.Succeeded, Windows: []window.Window{between("2025-03-10", "2025-03-12")}, AsOf: at("2025-03-15"), At: at("2025-03-15")},
		{Kind: coverage.Failed, Windows: []window.Window{between("2025-03-12", "2025-03-13")}, AsOf: at("2025-03-15"), At: at("2025-03-15")},
		{Kind: coverage.Succeeded, Windows: []window.Window{between("2025-03-13", "2025-03-15")}, AsOf: at("2025-03-15"), At: at("2025-03-15")},
	})
	b := counted(10)
	b.Own, b.Known = book, true
	d := drawn(t, c, b, stale(ask("a")))
	tiles(t, d.Draft)
	if *d.Window != between("2025-03-12", "2025-03-20T12:00:00Z") || len(d.Skipped) != 1 || d.Skipped[0] != between("2025-03-13", "2025-03-15") {
		t.Errorf("%s, skipped %v", d.Window, d.Skipped)
	}
}

func changed(r Request) Request {
	r.Refresh.Spec = refresh.Spec{Policy: refresh.ByChange, Exprs: []string{"e"}, Mappings: []string{"m"}}
	return r
}

func signalled(r Request) Request {
	r.Refresh.Spec = refresh.Spec{Policy: refresh.BySignal}
	return r
}

// Records under another mapping are cut by the batches that brought them, signals
// by their numbers; both have a cursor of ids of their own.
func TestUpdateByNumbers(t *testing.T) {
	c := pubmed(t, "slicing.targetRecords=100")
	seen := map[string]string{}
	for name, tc := range map[string]struct {
		ask func(Request) Request
		key string
	}{"changed": {changed, "batch_id"}, "signals": {signalled, "signal_id"}} {
		b := Inputs{Candidates: Candidates{Count: 250, Exact: true, From: 5, To: 1005}}
		d := drawn(t, c, b, tc.ask(ask("a")))
		if d.Empty || len(d.Slices) != 3 || d.namespace.Line() != ingest.CursorID || d.namespace.CursorKey != tc.key || d.namespace.Operation != ingest.Update {
			t.Fatalf("%s: %d slices, %+v", name, len(d.Slices), d.namespace)
		}
		seen[d.namespace.Key] = name
		next := int64(5)
		for _, s := range d.Slices {
			from, to, err := s.Range.Points(ingest.IDEnd)
			if err != nil || from != next || s.Range.Key != tc.key || !s.From.IsZero() {
				t.Fatalf("%s: %+v, %v", name, s.Range, err)
			}
			next = to
		}
		if next != 1005 || len(d.owed) != 1 || d.owed[0] != ingest.IDSpan(5, 1005) {
			t.Errorf("%s: ends at %d, owed %v", name, next, d.owed)
		}
		if name == "changed" && d.due != nil {
			t.Error("answers that are kept are waited for")
		}
		empty := drawn(t, c, Inputs{}, tc.ask(ask("a")))
		if !empty.Empty || !strings.Contains(empty.Reason, "no record of pubmed/articles is") {
			t.Errorf("%s: %+v", name, empty.Reason)
		}
	}
	for _, r := range []Request{stale(ask("a")), {Now: noon, From: ptr("2025-03-01"), To: ptr("2025-03-02")}} {
		own, err := namespaceOf(c, r)
		if err != nil {
			t.Fatal(err)
		}
		seen[own.Key] = "other"
	}
	if len(seen) != 4 {
		t.Errorf("two policies share a watermark: %v", seen)
	}
}

// W§5.2: a window that is asked for is read by date, again and again, whatever the
// watermark says; without a start it goes on from there.
func TestUpdateByTime(t *testing.T) {
	c, r := crossrefFor(t, ingest.Update), ask("a")
	r.From, r.To = ptr("2025-03-01"), ptr("2025-03-04")
	b := Inputs{Known: true, Own: coverage.State{Origin: at("2025-03-01"), Cursor: at("2025-03-19")}}
	d := drawn(t, c, b, r)
	tiles(t, d.Draft)
	if d.Empty || *d.Window != between("2025-03-01", "2025-03-04") || len(d.Slices) != 3 || d.Slices[0].Range != nil || step(d.Draft, "mode").Value != "TIME" {
		t.Errorf("%s, %+v", d.Window, d.Slices)
	}
	r = ask("a")
	r.Refresh.Policy = refresh.ByTime
	d = drawn(t, c, b, r)
	if *d.Window != between("2025-03-19", "2025-03-20T11:30:00Z") {
		t.Errorf("%s", d.Window)
	}
}

// A window that was named below the watermark and failed is made up for by the next
// update without a start, and nothing between it and the watermark is read again.
func TestUpdateByTimeMakesUpForWhatFailed(t *testing.T) {
	book := coverage.State{}
	for _, e := range []coverage.Event{
		{Kind: coverage.Planned, Windows: []window.Window{between("2025-03-10", "2025-03-19")}, AsOf: at("2025-03-19")},
		{Kind: coverage.Succeeded, Windows: []window.Window{between("2025-03-10", "2025-03-19")}, AsOf: at("2025-03-19")},
		{Kind: coverage.Planned, Windows: []window.Window{between("2025-03-01", "2025-03-02")}, AsOf: at("2025-03-19")},
		{Kind: coverage.Failed, Windows: []window.Window{between("2025-03-01", "2025-03-02")}, AsOf: at("2025-03-19"), At: at("2025-03-19")},
	} {
		book = coverage.Fold(book, e)
	}
	r := ask("a")
	r.Refresh.Policy = refresh.ByTime
	d := drawn(t, crossrefFor(t, ingest.Update), Inputs{Known: true, Own: book}, r)
	tiles(t, d.Draft)
	want := []window.Window{between("2025-03-01", "2025-03-02"), between("2025-03-19", "2025-03-20T11:30:00Z")}
	if !slices.Equal(d.owed, want) {
		t.Errorf("owed %v, want %v", d.owed, want)
	}
}

// What a source cannot do is refused with what it can.
func TestUpdateIsRefused(t *testing.T) {
	jstage := bundled(t, "jstage", "articles", ingest.Update) // cannot be asked by id
	undated := *jstage
	undated.Snapshot.Filter.Field = ""
	windowed := stale(ask("a"))
	windowed.From = ptr("2025-03-01")
	short := stale(ask("a"))
	short.Refresh.Cycle = duration.Duration(time.Minute)
	forced := changed(ask("a"))
	forced.Refresh.Ask = true
	for name, tc := range map[string]struct {
		c    *spec.Compiled
		r    Request
		want string
	}{
		"no ids":              {jstage, stale(ask("a")), "has no endpoint that is asked by id (details.endpoint), so its records cannot be looked at one by one; read a range of time again: patra update jstage --from"},
		"no ids for signals":  {jstage, signalled(ask("a")), "patra update jstage --from"},
		"no ids to ask for":   {jstage, forced, "patra update jstage --from"},
		"neither ids nor day": {&undated, stale(ask("a")), "has no endpoint that is asked by id"},
		"no day":              {&undated, ask("a"), "cannot select by date"},
		"window":              {pubmed(t), windowed, "leave it out"},
		"short cycle":         {pubmed(t), short, "between an hour and ten years"},
		"fill only":           {crossrefFor(t, ingest.Update, "response.fillOnly=true"), changed(ask("a")), "fillOnly"},
	} {
		_, err := drawPlan(tc.c, Inputs{}, tc.r)
		if !errors.Is(err, fault.ErrInvalid) && name != "short cycle" || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d, err := drawPlan(crossrefFor(t, ingest.Update), counted(0), changed(ask("a"))); err != nil || !d.Empty {
		t.Errorf("a new mapping needs no endpoint for ids: %v", err)
	}
}

// counting is a store that tells how many candidates there are.
type counting struct {
	Store
	asked []ingest.CandidateQuery
}

func (s *counting) Candidates(_ context.Context, q ingest.CandidateQuery) (Candidates, error) {
	s.asked = append(s.asked, q)
	return Candidates{Count: 5, Exact: true, From: 10, To: 100}, nil
}

// Candidates are counted only where they matter, and an update that named records
// follows no other signals.
func TestCandidatesAreCounted(t *testing.T) {
	s := &counting{Store: database(t)}
	d := planDraft(t, s, pubmed(t), stale(ask("a")))
	if len(s.asked) != 1 || len(s.asked[0].Shares) == 0 || !s.asked[0].Shares[0].Before.Equal(d.Window.To) {
		t.Errorf("%+v", s.asked)
	}
	named := signalled(ask("b"))
	named.Refresh.From, named.Refresh.To = 40, 43
	if d := planDraft(t, s, pubmed(t), named); len(d.Slices) != 1 || d.Slices[0].Range.From != "40" || d.Slices[0].Range.To != "43" {
		t.Errorf("%+v", d.Slices)
	}
	named.Refresh.From, named.Refresh.To = 400, 430
	if d := planDraft(t, s, pubmed(t), named); !d.Empty {
		t.Errorf("%+v", d.Slices)
	}
	r := ask("c")
	r.From = ptr("2025-03-01")
	planDraft(t, s, crossrefFor(t, ingest.Update), r)
	planDraft(t, s, crossref(t), ask("d"))
	if len(s.asked) != 3 {
		t.Errorf("counted for %+v", s.asked)
	}
}

// A plan of ids whose planner died is sliced to its end from what is stored.
func TestUpdateResumes(t *testing.T) {
	for name, r := range map[string]Request{"age": stale(ask("a")), "signals": signalled(ask("a"))} {
		t.Run(name, func(t *testing.T) {
			s := &counting{Store: database(t)}
			p := New(s)
			p.MaxStock = 1
			c := pubmed(t, "slicing.targetRecords=1")
			plan, d, err := p.Plan(t.Context(), c, r)
			if err != nil || d.Empty || len(d.Slices) < 4 {
				t.Fatalf("%+v, %v", d, err)
			}
			open, err := s.OpenPlans(t.Context(), plan.Partition)
			if err != nil || len(open) != 1 {
				t.Fatalf("%+v, %v", open, err)
			}
			before, err := s.PlannedWindows(t.Context(), plan.ID)
			if err != nil {
				t.Fatal(err)
			}
			p.MaxStock = 0
			if open[0].Status != ingest.PlanReady {
				if whole, err := p.Resume(t.Context(), plan.Partition, open[0]); err != nil || !whole {
					t.Fatalf("%v, %v", whole, err)
				}
			}
			bySector, err := s.PlannedWindows(t.Context(), plan.ID)
			planned := bySector[""]
			if err != nil || len(planned) < len(before) {
				t.Fatalf("%v, %v", planned, err)
			}
			for _, owed := range open[0].Owed {
				if left := window.Subtract(owed, planned); len(left) != 0 {
					t.Errorf("%v of %s is not sliced", left, owed)
				}
			}
		})
	}
}

// The same inputs, the same bytes.
func TestUpdateIsAPureFunction(t *testing.T) {
	c := pubmed(t, "slicing.targetRecords=50")
	rapid.Check(t, func(t *rapid.T) {
		b := Inputs{Candidates: Candidates{Count: rapid.Int64Range(0, 10_000).Draw(t, "count"), Exact: rapid.Bool().Draw(t, "exact"), From: 1, To: 5000}}
		r := rapid.SampledFrom([]func(Request) Request{stale, changed, signalled}).Draw(t, "policy")(ask("a"))
		r.Now = noon.Add(time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "now")))
		var drafts [2]string
		for i := range drafts {
			d, err := drawPlan(c, b, r)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			drafts[i] = string(text)
		}
		if drafts[0] != drafts[1] {
			t.Fatalf("two drafts differ:\n%s\n%s", drafts[0], drafts[1])
		}
	})
}
