package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
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

// W§5.3: without a window stored ids drive an update; the window only paces it.
func TestUpdateByID(t *testing.T) {
	c := crossrefFor(t, ingest.Update, "slicing.targetRecords=1000")
	d := drawn(t, c, Books{Candidates: Candidates{Count: 3500, Exact: true}}, ask("a"))
	if d.Empty || *d.Window != between("2025-03-19T11:30:00Z", "2025-03-20T11:30:00Z") || len(d.Slices) != 4 {
		t.Fatalf("%s, %d slices", d.Window, len(d.Slices))
	}
	next := "0000"
	for _, s := range d.Slices {
		g := s.Range
		if g == nil || g.From != next || g.Kind != slicing.HashBucket || g.Key != "provider_id" || !g.AsOf.Equal(d.NowSafe) || !s.From.IsZero() {
			t.Fatalf("%+v", s)
		}
		next = g.To
	}
	if next != "" || step(d, "mode").Value != "ID" || step(d, "candidates").Value != "3500" || step(d, "slices").Value != "4" {
		t.Errorf("ranges end at %q, explained by %v", next, d.Explain)
	}
	if f := d.Forecast; f.Requests.Value != 3500 || f.Items.Value != 3500 || f.Endpoints[0].Role != "DETAIL" {
		t.Errorf("%+v", f)
	}
	text, err := json.Marshal(d.Slices[0])
	if err != nil || strings.Contains(string(text), "0001-01-01") || !strings.Contains(string(text), `"range":{"key":"provider_id"`) {
		t.Errorf("%s, %v", text, err)
	}
	if got := d.Summary(); got != "4 slices of ids, paced by [2025-03-19T11:30:00Z, 2025-03-20T11:30:00Z)" {
		t.Error(got)
	}
	rough := drawn(t, c, Books{Candidates: Candidates{Count: 3500}}, ask("a"))
	if !strings.Contains(step(rough, "candidates").Why, "extrapolated") || rough.Slices[0].Signature != d.Slices[0].Signature {
		t.Errorf("%+v", step(rough, "candidates"))
	}
}

// W§5.2: a window that is asked for selects by date, as for any operation.
func TestUpdateByTime(t *testing.T) {
	c, r := crossrefFor(t, ingest.Update), ask("a")
	r.From, r.To = ptr("2025-03-01"), ptr("2025-03-04")
	d := drawn(t, c, Books{Candidates: Candidates{Count: 9}}, r)
	tiles(t, d)
	if d.Empty || *d.Window != between("2025-03-01", "2025-03-04") || len(d.Slices) != 3 || d.Slices[0].Range != nil || step(d, "mode").Value != "TIME" {
		t.Errorf("%s, %+v", d.Window, d.Slices)
	}
	// Where the strategy is one of ids, or the source has no date to select by,
	// the same window only paces.
	byIDs := crossrefFor(t, ingest.Update, "slicing.strategy=ID_RANGE")
	undated := *c
	undated.Snapshot.Filter.Field = ""
	for name, c := range map[string]*struct{ d *Draft }{
		"strategy":  {drawn(t, byIDs, Books{Candidates: Candidates{Count: 9}}, r)},
		"no filter": {drawn(t, &undated, Books{Candidates: Candidates{Count: 9}}, r)},
	} {
		if d := c.d; d.Empty || *d.Window != between("2025-03-01", "2025-03-04") || len(d.Slices) != 1 || d.Slices[0].Range == nil {
			t.Errorf("%s: %s, %+v", name, d.Window, d.Slices)
		}
	}
}

// Nothing stored is nothing to check: a result with a reason, with and without a database.
func TestUpdateOfNothing(t *testing.T) {
	c := crossrefFor(t, ingest.Update)
	rehearsed, err := Rehearse(t.Context(), c, ask("a"), nil)
	if err != nil {
		t.Fatal(err)
	}
	stored := planDraft(t, database(t), c, ask("a"))
	for name, d := range map[string]*Draft{"rehearsed": rehearsed, "stored": stored} {
		if !d.Empty || len(d.Slices) != 0 || !strings.Contains(d.Reason, "no record of crossref/works is stored") || d.Window == nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if _, _, err := New(database(t)).Plan(t.Context(), c, ask("a")); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "operation UPDATE") {
		t.Errorf("an update was stored that nothing can run: %v", err)
	}
}

// counting is a store that tells how many candidates there are before an instant.
type counting struct {
	Store
	before []time.Time
}

func (s *counting) Candidates(_ context.Context, _ ingest.Dataset, before time.Time) (int64, bool, error) {
	s.before = append(s.before, before)
	return 5, true, nil
}

// Records are candidates by the end of the window, and are counted only where they matter.
func TestCandidatesAreCountedAtTheEndOfTheWindow(t *testing.T) {
	s := &counting{Store: database(t)}
	c, r := crossrefFor(t, ingest.Update), ask("a")
	if d := planDraft(t, s, c, r); len(d.Slices) != 1 || len(s.before) != 1 || !s.before[0].Equal(d.Window.To) {
		t.Errorf("%d slices, asked for %v", len(d.Slices), s.before)
	}
	r.From = ptr("2025-03-01")
	planDraft(t, s, c, r)
	planDraft(t, s, crossref(t), ask("b"))
	if len(s.before) != 1 {
		t.Errorf("counted for %v", s.before)
	}
}

// The same inputs, the same bytes, and every id in one slice.
func TestUpdateIsAPureFunction(t *testing.T) {
	c := crossrefFor(t, ingest.Update, "slicing.targetRecords=50")
	rapid.Check(t, func(t *rapid.T) {
		b := Books{Candidates: Candidates{Count: rapid.Int64Range(0, 10_000).Draw(t, "count"), Exact: rapid.Bool().Draw(t, "exact")}}
		r := ask("a")
		r.Now = noon.Add(time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "now")))
		var drafts [2]string
		for i := range drafts {
			d, err := Draw(c, b, r)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			drafts[i] = string(text)
			if d.Empty != (b.Candidates.Count == 0) {
				t.Fatalf("%d candidates: empty %v", b.Candidates.Count, d.Empty)
			}
			for n := range 20 {
				held, id := 0, fmt.Sprint("10.1/", n)
				for _, s := range d.Slices {
					if s.Range.Contains(id) {
						held++
					}
				}
				if !d.Empty && held != 1 {
					t.Fatalf("%s is in %d slices", id, held)
				}
			}
		}
		if drafts[0] != drafts[1] {
			t.Fatalf("two drafts differ:\n%s\n%s", drafts[0], drafts[1])
		}
	})
}
