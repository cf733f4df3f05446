package executor

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// workThroughTrouble works on tasks for some hours, and looks at the upstream each time its breaker lets one run through.
func (w *formWorld) workThroughTrouble() (ended map[ingest.TaskStatus]int) {
	w.Helper()
	ended = map[ingest.TaskStatus]int{}
	for round := range 60 {
		w.clock.advance(10 * time.Minute)
		_, err := w.store.Promote(w.Context(), 100)
		w.must(err)
		work, err := w.store.Claim(w.Context(), ingest.ClaimRequest{PartitionID: 1, Owner: "worker", Token: fmt.Sprint("round-", round), Lease: time.Minute, Max: 1})
		w.must(err)
		if len(work) == 0 {
			return ended
		}
		out, err := New(w.store, w.chain, nil, w.config, slog.New(slog.DiscardHandler)).Execute(w.Context(), work[0])
		w.must(err)
		ended[out.Task]++
	}
	return ended
}

// A part that is broken for good, when all others are read, uses up its attempts: nobody waits to know whether the upstream is
// back, and a harvest would never end. It stays owed.
func TestTheLastPartThatFailsEndsItsPlan(t *testing.T) {
	w := startForm(t, simulated.Shelves(), 60, "", "retry.maxAttempts=1")
	broken := upsim.ShelfNames()[3]
	w.must(w.server.SetFaults([]upsim.Fault{{Kind: upsim.Fault500, When: func(h upsim.Hit) bool { return h.Params.Get("shelf") == broken }}}))
	w.planSince(dayFrom, until)
	if ended := w.workThroughTrouble(); ended[ingest.TaskSucceeded] != 3 || ended[ingest.TaskFailed] != 1 || ended[ingest.TaskScheduled] != 4 {
		t.Errorf("%v\n  %s", ended, w.story())
	}
	w.checked()
}

// An upstream that is down fails nobody, as long as tasks wait that did not fail for a reason of their own.
func TestAnOutageFailsNobody(t *testing.T) {
	w := startForm(t, simulated.Shelves(), 60, "", "retry.maxAttempts=1", "slicing.step=PT4H")
	answers := 2
	w.must(w.server.SetFaults([]upsim.Fault{{Kind: upsim.Fault500, When: func(upsim.Hit) bool { answers--; return answers < 0 }}}))
	w.planSince(dayFrom, until)
	if ended := w.workThroughTrouble(); ended[ingest.TaskSucceeded] == 0 || ended[ingest.TaskFailed] != 0 || ended[ingest.TaskScheduled] < 50 {
		t.Errorf("%v\n  %s", ended, w.story())
	}
}

// A plan of a single slice waits for its upstream: that nothing came says nothing about the slice.
func TestASingleSliceWaitsForItsUpstream(t *testing.T) {
	w := startForm(t, formNamed(t, "offset"), 60, "", "retry.maxAttempts=1")
	w.must(w.server.SetFaults([]upsim.Fault{{Kind: upsim.Fault500, When: func(upsim.Hit) bool { return true }}}))
	w.planSince(dayFrom, until)
	if ended := w.workThroughTrouble(); ended[ingest.TaskFailed] != 0 || ended[ingest.TaskScheduled] != 60 {
		t.Errorf("%v\n  %s", ended, w.story())
	}
}
