package ledger

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) cursorOrders(t *testing.T) {
	s.test(t, "every order of four slices ends at the same cursor", func(w *world) {
		for n, order := range permutations(4) {
			h := fixture.Harvest{Source: fmt.Sprint("source-", n), Days: 4}
			attempts := w.StartAll(h)
			for _, i := range order {
				attempts[i].Finish(fixture.Succeeded)
				w.Verified(h)
			}
			w.CursorAt(h, 5)
		}
	})
	s.test(t, "any outcomes in any order, then repair", func(w *world) {
		n := 0
		rapid.Check(w.T, func(t *rapid.T) {
			n++
			h := fixture.Harvest{Source: fmt.Sprint("source-", n), Days: rapid.IntRange(1, 5).Draw(t, "days")}
			h.Lookback = time.Duration(rapid.IntRange(0, 40).Draw(t, "lookback days")) * fixture.Day
			w.anyHistory(t, h)
		})
	})
	s.test(t, "slices that finish at the same time lose nothing", func(w *world) {
		const workers = 8
		h := fixture.Harvest{Days: workers}
		attempts := w.StartAll(h)
		handles := w.Handles(4)
		w.Together(workers, func(i int) error {
			return handles[i%len(handles)].FinishRun(w.Ctx, attempts[i].Ending(fixture.Succeeded))
		})
		w.CursorAt(h, workers+1)
		w.planIs(attempts[0].Work.Lineage.PlanID, ingest.PlanCompleted)
		if n := len(w.Events(h)); n != workers+1 {
			w.Errorf("%d events, want %d", n, workers+1)
		}
	})
}

// anyHistory finishes the days of a harvest in a drawn order with drawn
// outcomes, and reads the failed ones again. The law: after each step the ledger
// verifies and the cursor has not moved back; after the first round it stands
// below the first failed day, after the repair at the end.
func (w *world) anyHistory(t *rapid.T, h fixture.Harvest) {
	attempts := w.StartAll(h)
	ends := rapid.SliceOfN(rapid.SampledFrom([]ingest.Outcome{fixture.Succeeded, fixture.Succeeded, fixture.Failed, fixture.Partial}), h.Days, h.Days).Draw(t, "outcomes")
	order := rapid.Permutation(numbers(h.Days)).Draw(t, "order")
	at := w.CoverageOf(h).Cursor
	step := func(what string) {
		verdict, err := w.Store.Verify(w.Ctx, w.CursorID(h))
		if err != nil || len(verdict.Problems) != 0 {
			t.Fatalf("%s: verify: %v %v", what, err, verdict.Problems)
		}
		if verdict.Refolded.Before(at) {
			t.Fatalf("%s: the cursor went back from %v to %v", what, at, verdict.Refolded)
		}
		at = verdict.Refolded
	}
	for _, i := range order {
		attempts[i].Finish(ends[i])
		step(fmt.Sprintf("day %d %s", i+1, ends[i].Task))
	}
	first := 0
	for first < h.Days && ends[first].Task == ingest.TaskSucceeded {
		first++
	}
	if want := fixture.Midnight(1 + first); !at.Equal(want) {
		t.Fatalf("outcomes %v: cursor at %v, want %v", ends, at, want)
	}
	for _, gap := range coverage.Gaps(w.CoverageOf(h).Segments, h.Window()) {
		from := gap.From.Day()
		repair := fixture.Harvest{Source: h.Source, Trigger: fmt.Sprint("repair", from), First: from, Days: gap.To.Day() - from, AsOf: fixture.Noon.Add(time.Hour), Lookback: h.Lookback}
		w.Plan(repair)
		step("repair planned")
		for range repair.Days {
			w.Work(repair, fixture.Succeeded)
			step("repair")
		}
	}
	if want := h.Window().To; !at.Equal(want) {
		t.Fatalf("outcomes %v: after the repair the cursor is at %v, want %v", ends, at, want)
	}
}

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, shorter := range permutations(n - 1) {
		for at := range n {
			longer := append(append(append([]int{}, shorter[:at]...), n-1), shorter[at:]...)
			out = append(out, longer)
		}
	}
	return out
}
