package executor

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// F28: no task fails because an upstream asked us to slow down, however often.
func TestBeingThrottledIsNoFailure(t *testing.T) {
	at := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	r := newTaskRun(&Executor{log: slog.New(slog.DiscardHandler)}, ingest.Work{}, ingest.Run{Failures: 1000})
	r.lastSeen = at
	throttled := fault.New(fault.RateLimited, nil)
	throttled.Wait = time.Hour
	got := r.decideOutcome(t.Context(), throttled)
	if got.Task != ingest.TaskScheduled || got.Run != ingest.RunCancelled || got.NotBefore.Before(at.Add(time.Hour)) {
		t.Errorf("throttled: %+v, want the task put back until the wait is over", got)
	}
	if got := r.decideOutcome(t.Context(), fault.New(fault.ServerError, nil)); got.Task != ingest.TaskFailed {
		t.Errorf("server error after %d failures: %+v, want FAILED", r.run.Failures, got)
	}
}

// The same through the store: a lease that ended in "wait" is not counted
// against the task, and the whole partition is left alone until then (I11).
func TestThrottledForDays(t *testing.T) {
	inWorld(t, setup{faults: "429@*:retry-after=7200"}, func(w *world) {
		const more = 15 // than the leases a task may have without a batch
		for i := range more {
			w.chain = transport.StackSigned(httpclient.New(httpclient.Options{}), nil, rategate.New()) // a new process
			if out := w.run(); out.Task != ingest.TaskScheduled {
				t.Fatalf("after %d waits: %+v", i, out)
			}
			queues := 0
			w.must(w.raw.QueryRow("SELECT COUNT(*) FROM ing_partition WHERE cooling_until > ?", w.clock.read().Add(time.Hour).UnixMicro()).Scan(&queues))
			if queues != 1 {
				t.Fatal("the partition is not cooling")
			}
			w.clock.advance(3 * time.Hour)
			if n, err := w.store.Promote(t.Context(), 10); n != 1 || err != nil {
				t.Fatalf("promoted %d, %v", n, err)
			}
		}
		w.faults("slow@1000000:delay=1ms")
		w.chain = transport.StackSigned(httpclient.New(httpclient.Options{}), nil, rategate.New())
		if out := w.run(); out.Task != ingest.TaskSucceeded {
			t.Errorf("when the upstream answers again: %+v", out)
		}
	})
}

// An upstream that answers in the middle of a walk that there is nothing, with
// status 200 and in good form, does not end the slice (D§5.15).
func TestEmptyAnswerInMidWalkIsNotTheEnd(t *testing.T) {
	inWorld(t, setup{faults: "empty-200@page:3:times=1"}, func(w *world) {
		if out := w.run(); out.Task != ingest.TaskSucceeded || out.Stats.Inserted != perDay || out.Stats.Restarts == 0 {
			t.Errorf("%+v", out)
		}
	})
}

// Where a source says that its 429 is never worth another try, the task fails: put
// back again and again it would knock for ever, and nobody would see it.
func TestA429ThatIsGivenUp(t *testing.T) {
	l := &list{things: things(5)}
	l.search = func(*list, *http.Request, []thing) any { return refusal(429) }
	w := byHand(t, l, byOffset+asIs, "retry.giveUpStatus=[429]")
	w.harvest()
	if len(w.outcomes) != 1 || w.outcomes[0].Task != ingest.TaskFailed || l.calls["/list"] != 1 {
		t.Errorf("%d requests\n%s", l.calls["/list"], w.story())
	}
}
