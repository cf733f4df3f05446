package executor

import (
	"net/http"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// counted is a list that counts the requests of each run. Down is asked first.
func counted(n int, down func(run int) bool) (*list, *[]int, *formWorld) {
	l, w, requests := &list{things: things(n)}, &formWorld{}, &[]int{}
	l.search = func(_ *list, r *http.Request, found []thing) any {
		run := len(w.outcomes)
		for len(*requests) <= run {
			*requests = append(*requests, 0)
		}
		(*requests)[run]++
		if down(run) {
			return refusal(503)
		}
		return answered(sized(r, found), found)
	}
	return l, requests, w
}

// §12.2: while a circuit is half open one request looks, and one more tells a page
// from an upstream. It used to be all tries of a page, and ten pages more.
func TestARunThatLooksAheadSendsTwoRequests(t *testing.T) {
	l, requests, w := counted(40, func(run int) bool { return run < 8 })
	*w = *byHand(t, l, byOffset+asIs, "paging.stable=true", "retry.taskAttempts=5", "retry.initialDelay=PT0S")
	w.harvest()
	ahead := 0
	for i, o := range w.outcomes {
		if o.Waits != gate.Breaker {
			continue
		}
		if ahead++; (*requests)[i] != 2 || o.Answered {
			t.Errorf("run %d made %d requests: %+v", i+1, (*requests)[i], o)
		}
	}
	if ahead != 5 || len(w.outcomes) != 9 {
		t.Errorf("%d looked ahead\n%s", ahead, w.story())
	}
	w.holds(l.things)
	w.checked()
}

// An upstream that is back, and one page that it cannot serve: the failure is that
// of the task. Otherwise the task, alone at its endpoint, would be sent ahead for
// ever, and never be given up or taken apart.
func TestAPageThatFailsIsNoUpstreamThatIsDown(t *testing.T) {
	l := poisoned(40, "t001")
	w := byHand(t, l, byOffset+asIs, "paging.stable=true", "retry.taskAttempts=5", "retry.initialDelay=PT0S")
	w.planDay()
	for range 3 { // what runs of others did to the breaker
		task := w.claim("worker")
		run, err := w.store.StartRun(t.Context(), task, time.Minute)
		w.must(err)
		task.Lineage.RunID = run.ID
		w.must(w.store.FinishRun(t.Context(), ingest.Finish{Lease: task.Lease, Lineage: task.Lineage, Outcome: ingest.Outcome{
			Task: ingest.TaskQueued, Run: ingest.RunCancelled, Code: string(fault.Network),
		}}))
	}
	w.clock.advance(time.Hour)
	probe, err := w.executor(w.store).Execute(t.Context(), w.claim("worker"))
	w.must(err)
	w.outcomes = append(w.outcomes, probe)
	breakers, err := w.store.Breakers(t.Context())
	w.must(err)
	for _, b := range breakers {
		if b.Failures != 1 || !b.OpenUntil.IsZero() {
			t.Errorf("one page keeps everybody away: %+v", b)
		}
	}
	w.work()
	if first := w.outcomes[0]; !first.Answered || first.Run != ingest.RunFailed || len(w.outcomes) != 3 {
		t.Errorf("%+v\n%s", first, w.story())
	}
	w.holds(without(l.things, []string{"t001"}))
	w.checked()
}
