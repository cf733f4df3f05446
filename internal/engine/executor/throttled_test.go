package executor

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// F28: no task fails because an upstream asked us to slow down, however often.
func TestBeingThrottledIsNoFailure(t *testing.T) {
	at := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	r := &running{run: ingest.Run{Failures: 1000}, lastSeen: at}
	throttled := fault.New(fault.RateLimited, nil)
	throttled.Wait = time.Hour
	got := r.outcome(t.Context(), throttled)
	if got.Task != ingest.TaskScheduled || got.Run != ingest.RunCancelled || got.NotBefore.Before(at.Add(time.Hour)) {
		t.Errorf("throttled: %+v, want the task put back until the wait is over", got)
	}
	if got := r.outcome(t.Context(), fault.New(fault.ServerError, nil)); got.Task != ingest.TaskFailed {
		t.Errorf("server error after %d failures: %+v, want FAILED", r.run.Failures, got)
	}
}
