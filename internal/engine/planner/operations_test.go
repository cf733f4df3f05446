package planner

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

func drawn(t *testing.T, c *spec.Compiled, b Inputs, r Request) *drawing {
	t.Helper()
	d, err := drawPlan(c, b, r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// W§4: a backfill ends at the forward watermark, and skips what its campaign has read.
func TestBackfillIsDrawn(t *testing.T) {
	c, r := crossrefFor(t, ingest.Backfill), ask("a")
	r.From, r.To = ptr("2025-03-01T00:00:00Z"), ptr("2025-03-19T00:00:00Z")
	forward := at("2025-03-05T00:00:00Z")
	d := drawn(t, c, Inputs{Forward: &forward}, r)
	if d.Empty || d.Window.To != forward || len(d.Slices) != 4 || d.Operation != ingest.Backfill {
		t.Errorf("%+v", d)
	}
	read := window.Window{From: at("2025-03-02T00:00:00Z"), To: at("2025-03-04T00:00:00Z")}
	book := coverage.State{Origin: *r.From, Cursor: *r.From, Segments: []coverage.Segment{{Window: read, Want: r.Now, Have: r.Now}}}
	d = drawn(t, c, Inputs{Own: book, Known: true, Forward: &forward}, r)
	if len(d.Slices) != 2 || len(d.Skipped) != 1 || d.Skipped[0] != read {
		t.Errorf("slices %+v, skipped %v", d.Slices, d.Skipped)
	}
}

// I6, D§5.8: each operation has its own books; the same range asked for again is the same campaign.
func TestOperationsHaveTheirOwnNamespaces(t *testing.T) {
	r, other := ask("a"), ask("b")
	r.From, other.From = ptr("2025-03-01T00:00:00Z"), ptr("2025-03-02T00:00:00Z")
	again := r
	again.TriggerKey, again.Now = "later", r.Now.Add(time.Hour)
	named, alike := r, other
	named.Campaign, alike.Campaign = "thesis", "thesis"
	backfill := crossrefFor(t, ingest.Backfill)
	of := func(c *spec.Compiled, r Request) ingest.Namespace { return drawn(t, c, Inputs{}, r).namespace }
	if of(backfill, r) != of(backfill, again) || of(backfill, named) != of(backfill, alike) {
		t.Error("a campaign that is taken up again is another one")
	}
	seen := map[ingest.Namespace]string{}
	for name, n := range map[string]ingest.Namespace{
		"harvest": of(crossref(t), r), "update": of(crossrefFor(t, ingest.Update), r), "backfill": of(backfill, r),
		"another range": of(backfill, other), "a named campaign": of(backfill, named),
	} {
		if same, taken := seen[n]; taken {
			t.Errorf("%s and %s share a namespace", name, same)
		}
		seen[n] = name
	}
}

// The planner finds the forward watermark of the same question by itself.
func TestBackfillFindsTheForwardWatermark(t *testing.T) {
	s := database(t)
	h := ask("h")
	h.From, h.To = ptr("2025-03-10T00:00:00Z"), ptr("2025-03-12T00:00:00Z")
	plan(t, s, crossref(t), h)
	r := ask("b")
	r.From = ptr("2025-03-01T00:00:00Z")
	d, err := New(s).Draft(t.Context(), crossrefFor(t, ingest.Backfill), r)
	if err != nil || d.Window == nil || d.Window.To != *h.From {
		t.Errorf("%+v, %v: want it to end at %s, where the harvest begins", d, err, h.From)
	}
}

// I6, D§5.9: a stored backfill keeps its own books, and the same range asked for
// again, when it was read, is nothing to do.
func TestBackfillIsStored(t *testing.T) {
	s, h := database(t), ask("h")
	h.From, h.To = ptr("2025-03-10T00:00:00Z"), ptr("2025-03-12T00:00:00Z")
	plan(t, s, crossref(t), h)
	finish(t, s, 10)
	before, _, err := s.CoverageState(t.Context(), namespaceIn(t, crossref(t), h))
	if err != nil {
		t.Fatal(err)
	}
	c, r := crossrefFor(t, ingest.Backfill), ask("b")
	r.From, r.To = ptr("2025-03-01T00:00:00Z"), ptr("2025-03-20T00:00:00Z")
	p, d := plan(t, s, c, r)
	if *d.Window != between("2025-03-01", "2025-03-12") || len(d.Slices) != 11 || p.Partition.Operation != ingest.Backfill {
		t.Fatalf("%s in %d slices", d.Window, len(d.Slices))
	}
	for i, task := range queue(t, s, p.ID) { // listed newest row first; planned newest window first
		if want := d.Slices[len(d.Slices)-1-i]; task.Priority != 90 || task.Status != "QUEUED" || !task.Window.From.Equal(want.From) {
			t.Errorf("task %+v for %+v", task, want)
		}
	}
	if !d.Slices[0].From.After(d.Slices[1].From) {
		t.Error("a backfill begins with what is newest")
	}
	finish(t, s, 3)
	again := ask("c")
	again.From, again.To = r.From, r.To
	if d := planDraft(t, s, c, again); len(d.Skipped) != 1 || len(d.Slices) != 8 {
		t.Errorf("after three days: %d slices, skipped %v", len(d.Slices), d.Skipped)
	}
	finish(t, s, 10)
	if _, d := plan(t, s, c, again); !d.Empty || d.Reason == "" || len(d.Slices) != 0 {
		t.Errorf("asked again: %+v", d)
	}
	after, _, err := s.CoverageState(t.Context(), namespaceIn(t, crossref(t), h))
	if err != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("the book of the harvest was %+v and is %+v, %v", before, after, err)
	}
	own, known, err := s.CoverageState(t.Context(), namespaceIn(t, c, r))
	if err != nil || !known || !own.Cursor.Equal(d.Window.To) {
		t.Errorf("the book of the backfill: %+v, %v", own, err)
	}
}

// namespaceIn is where the coverage of what was asked for is kept.
func namespaceIn(t *testing.T, c *spec.Compiled, r Request) ingest.Namespace {
	t.Helper()
	own, err := namespaceOf(c, r)
	if err != nil {
		t.Fatal(err)
	}
	return own
}

func planDraft(t *testing.T, s Store, c *spec.Compiled, r Request) *Draft {
	t.Helper()
	d, err := New(s).Draft(t.Context(), c, r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// An operation without a value of its own must not be planned as another one: it would
// move that one's watermark.
func TestAnUnknownOperationIsNotPlanned(t *testing.T) {
	c := *crossref(t)
	c.Snapshot.Operation = "METRICS"
	if _, err := drawPlan(&c, Inputs{}, ask("a")); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), `the operation "METRICS" cannot be planned`) {
		t.Errorf("%v", err)
	}
	if _, err := namespaceOf(&c, ask("a")); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
