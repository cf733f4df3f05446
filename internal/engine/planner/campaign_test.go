package planner

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Parts of any length, from either end, with some that fail, come to an end: each
// reads only what is owed, none overlaps one that is open, and together they read
// all of the range once.
func TestPartsTileTheRange(t *testing.T) {
	crossref := crossrefFor(t, ingest.Backfill, "slicing.step=P1D")
	whole := between("2025-01-01T00:00:00Z", "2025-03-01T00:00:00Z")
	rapid.Check(t, func(t *rapid.T) {
		c := *crossref
		since := rapid.Bool().Draw(t, "no upper bound")
		if since {
			c.Snapshot.Filter.Ends = query.FromOnly
		}
		part := Part{
			Chunk: time.Duration(rapid.IntRange(1, 70*24).Draw(t, "hours")) * time.Hour,
			Order: rapid.SampledFrom([]ingest.CampaignOrder{ingest.NewestFirst, ingest.OldestFirst}).Draw(t, "order"),
		}
		book := coverage.Fold(coverage.State{}, coverage.Event{Kind: coverage.Planned, Windows: []window.Window{whole}, AsOf: at("2025-03-19T00:00:00Z")})
		r := ask("part")
		r.From, r.To, r.Of = &whole.From, &whole.To, &part
		var open []window.Window
		var read time.Duration
		for n := 0; ; n++ {
			part.Taken = open
			d, err := drawPlan(&c, Inputs{Own: book, Known: true}, r)
			if err != nil {
				t.Fatal(err)
			}
			if d.Empty && len(open) == 0 {
				if len(coverage.Gaps(book.Segments, whole)) == 0 || n > 10_000 {
					break
				}
				r.Now = r.Now.Add(time.Hour) // what failed often waits for its time
				continue
			}
			if d.Empty || len(open) > 0 && rapid.Bool().Draw(t, "end one") {
				kind := coverage.Succeeded
				if n < 200 && rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
					kind = coverage.Failed
				} else {
					read += open[0].Duration()
				}
				book = coverage.Fold(book, coverage.Event{Kind: kind, Windows: open[:1], AsOf: d.NowSafe, At: r.Now.Add(-time.Hour)})
				open = open[1:]
				continue
			}
			for _, w := range d.owed {
				for _, busy := range open {
					if !w.Intersect(busy).Empty() {
						t.Fatalf("%s is planned while %s is open", w, busy)
					}
				}
			}
			if since && len(d.Slices) != 1 {
				t.Fatalf("%d slices, and each would read the rest of the list", len(d.Slices))
			}
			if len(d.Slices) == 0 || part.Order == ingest.NewestFirst != slices.IsSortedFunc(d.Slices, func(a, b DraftSlice) int { return b.From.Compare(a.From) }) && len(d.Slices) > 1 {
				t.Fatalf("%d slices, not in the order %s", len(d.Slices), part.Order)
			}
			book = coverage.Fold(book, coverage.Event{Kind: coverage.Planned, Windows: d.owed, AsOf: d.NowSafe})
			open = append(open, d.owed...)
		}
		if gaps := coverage.Gaps(book.Segments, whole); len(gaps) != 0 || read < whole.Duration() || !since && read > whole.Duration() {
			t.Fatalf("%s of %s were read, left are %v", read, whole.Duration(), gaps)
		}
	})
}

// A draft of a part narrows the window and what it skips with it.
func TestPartOfACampaign(t *testing.T) {
	c, r := crossrefFor(t, ingest.Backfill), ask("a")
	whole := between("2025-02-01T00:00:00Z", "2025-03-01T00:00:00Z")
	r.From, r.To = &whole.From, &whole.To
	part := &Part{Namespace: ingest.CampaignNamespace(c.Snapshot.Dataset(), "indexed", "x"), Chunk: 7 * 24 * time.Hour, Order: ingest.NewestFirst}
	r.Of = part
	read := between("2025-02-20T00:00:00Z", "2025-02-22T00:00:00Z")
	book := coverage.State{Origin: whole.From, Cursor: whole.From, Segments: []coverage.Segment{{Window: read, Want: r.Now, Have: r.Now}}}
	d := drawn(t, c, Inputs{Own: book, Known: true}, r)
	if *d.Window != between("2025-02-22T00:00:00Z", "2025-03-01T00:00:00Z") || len(d.Skipped) != 0 || d.namespace != part.Namespace {
		t.Errorf("%s, skipped %v", d.Window, d.Skipped)
	}
	part.Chunk = 8 * 24 * time.Hour
	d = drawn(t, c, Inputs{Own: book, Known: true}, r)
	if *d.Window != between("2025-02-19T00:00:00Z", "2025-03-01T00:00:00Z") || !slices.Equal(d.Skipped, []window.Window{read}) {
		t.Errorf("%s, skipped %v", d.Window, d.Skipped)
	}
	part.Order, part.Taken = ingest.OldestFirst, []window.Window{between("2025-02-01T00:00:00Z", "2025-02-05T00:00:00Z")}
	d = drawn(t, c, Inputs{Own: book, Known: true}, r)
	if *d.Window != between("2025-02-05T00:00:00Z", "2025-02-13T00:00:00Z") || d.Slices[0].From != d.Window.From {
		t.Errorf("%s, first %s", d.Window, d.Slices[0].From)
	}
}

// Planners that go on with one campaign at the same moment plan each part once.
func TestTwoPlannersPlanEachPartOnce(t *testing.T) {
	s := database(t)
	c := crossrefFor(t, ingest.Backfill)
	whole := between("2025-02-01T00:00:00Z", "2025-03-01T00:00:00Z")
	r := ask("")
	k := NewCampaigns(New(s), s)
	campaign, empty, err := k.Open(t.Context(), c, Wish{Name: "one", From: &whole.From, To: &whole.To, Now: r.Now, Chunk: 7 * 24 * time.Hour})
	if err != nil || empty != "" {
		t.Fatalf("%q, %v", empty, err)
	}
	ends := make(chan error)
	for range 4 {
		go func() {
			_, err := NewCampaigns(New(s), s).Advance(t.Context(), c, campaign, r.Now)
			ends <- err
		}()
	}
	for range 4 {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	ever, open, err := s.CampaignPlans(t.Context(), campaign.CursorID)
	if err != nil || ever != ahead || len(open) != ahead {
		t.Fatalf("%d plans, %d open, %v", ever, len(open), err)
	}
	var owed []window.Window
	length := time.Duration(0)
	for _, o := range open {
		for _, w := range o.Owed {
			owed, length = append(owed, w), length+w.Duration()
		}
	}
	if all := window.Union(owed); len(all) != 1 || all[0].Duration() != length || length != 21*24*time.Hour || all[0].To != whole.To {
		t.Errorf("the parts are %v", owed)
	}
}

func TestCampaignIsNamed(t *testing.T) {
	c := crossrefFor(t, ingest.Backfill)
	name := func(w Wish) string {
		t.Helper()
		text, err := w.NameOf(c)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	first := name(Wish{Typed: "-30d..", From: ptr("2025-01-01T00:00:00Z")})
	if again := name(Wish{Typed: "-30d..", From: ptr("2025-02-01T00:00:00Z")}); again != first {
		t.Errorf("the same words are %s and %s", first, again)
	}
	if other := name(Wish{Typed: "-31d.."}); other == first {
		t.Error("other words are the same campaign")
	}
	if got := name(Wish{Name: "a.b_C-1"}); got != "a.b_C-1" {
		t.Error(got)
	}
	for _, bad := range []string{"-x", "a b", "ü", "a/b", string(make([]byte, 65))} {
		if _, err := (Wish{Name: bad}).NameOf(c); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, _, err := NewCampaigns(New(database(t)), database(t)).Open(t.Context(), c, Wish{Name: "new", Now: ask("").Now}); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("a new campaign without a start: %v", err)
	}
}

// The range is fixed where the forward watermark stands when the campaign begins.
func TestCampaignEndsAtTheForwardWatermark(t *testing.T) {
	s := database(t)
	h := ask("h")
	h.From, h.To = ptr("2025-03-10T00:00:00Z"), ptr("2025-03-12T00:00:00Z")
	plan(t, s, crossref(t), h)
	c := crossrefFor(t, ingest.Backfill)
	k := NewCampaigns(New(s), s)
	campaign, _, err := k.Open(t.Context(), c, Wish{From: ptr("2025-03-01T00:00:00Z"), To: ptr("2025-03-11T00:00:00Z"), Typed: "a..b", Now: h.Now})
	if err != nil || campaign.Range != between("2025-03-01T00:00:00Z", "2025-03-10T00:00:00Z") || campaign.Chunk != DefaultChunk || campaign.Order != ingest.NewestFirst {
		t.Errorf("%+v, %v", campaign, err)
	}
	_, empty, err := k.Open(t.Context(), c, Wish{From: ptr("2025-03-10T00:00:00Z"), Typed: "b..", Now: h.Now})
	if err != nil || empty == "" {
		t.Errorf("a range above the watermark: %q, %v", empty, err)
	}
}
