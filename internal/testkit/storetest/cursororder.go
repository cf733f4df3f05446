package storetest

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

func (s suite) cursorOrders(t *testing.T) {
	s.test(t, "every order of four slices ends at the same cursor", func(w *world) {
		for n, order := range permutations(4) {
			h := harvest{source: fmt.Sprint("source-", n), days: 4}
			attempts := w.startAll(h)
			for _, i := range order {
				attempts[i].finish(succeeded)
				w.verified(h)
			}
			w.cursorAt(h, 5)
		}
	})
	s.test(t, "any outcomes in any order, then repair", func(w *world) {
		n := 0
		rapid.Check(w.T, func(t *rapid.T) {
			n++
			h := harvest{source: fmt.Sprint("source-", n), days: rapid.IntRange(1, 5).Draw(t, "days")}
			h.lookback = time.Duration(rapid.IntRange(0, 40).Draw(t, "lookback days")) * day
			w.anyHistory(t, h)
		})
	})
	s.test(t, "slices that finish at the same time lose nothing", func(w *world) {
		const workers = 8
		h := harvest{days: workers}
		attempts := w.startAll(h)
		handles := w.handles(4)
		w.together(workers, func(i int) error {
			return handles[i%len(handles)].FinishRun(w.ctx, attempts[i].ending(succeeded))
		})
		w.cursorAt(h, workers+1)
		w.planIs(attempts[0].work.Lineage.PlanID, ingest.PlanCompleted)
		if n := len(w.events(h)); n != workers+1 {
			w.Errorf("%d events, want %d", n, workers+1)
		}
	})
}

// anyHistory finishes the days of a harvest in a drawn order with drawn
// outcomes, and reads the failed ones again. The law: after each step the ledger
// verifies and the cursor has not moved back; after the first round it stands
// below the first failed day, after the repair at the end.
func (w *world) anyHistory(t *rapid.T, h harvest) {
	attempts := w.startAll(h)
	ends := rapid.SliceOfN(rapid.SampledFrom([]ingest.Outcome{succeeded, succeeded, failed, partial}), h.days, h.days).Draw(t, "outcomes")
	order := rapid.Permutation(numbers(h.days)).Draw(t, "order")
	at := w.book(h).Cursor
	step := func(what string) {
		verdict, err := w.store.Verify(w.ctx, w.cursorID(h))
		if err != nil || len(verdict.Problems) != 0 {
			t.Fatalf("%s: verify: %v %v", what, err, verdict.Problems)
		}
		if verdict.Refolded.Before(at) {
			t.Fatalf("%s: the cursor went back from %v to %v", what, at, verdict.Refolded)
		}
		at = verdict.Refolded
	}
	for _, i := range order {
		attempts[i].finish(ends[i])
		step(fmt.Sprintf("day %d %s", i+1, ends[i].Task))
	}
	first := 0
	for first < h.days && ends[first].Task == ingest.TaskSucceeded {
		first++
	}
	if want := midnight(1 + first); !at.Equal(want) {
		t.Fatalf("outcomes %v: cursor at %v, want %v", ends, at, want)
	}
	for _, gap := range coverage.Gaps(w.book(h).Segments, h.window()) {
		from := gap.From.Day()
		repair := harvest{source: h.source, trigger: fmt.Sprint("repair", from), first: from, days: gap.To.Day() - from, asOf: noon.Add(time.Hour), lookback: h.lookback}
		w.plan(repair)
		step("repair planned")
		for range repair.days {
			w.work(repair, succeeded)
			step("repair")
		}
	}
	if want := h.window().To; !at.Equal(want) {
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
