package executor

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// troubled is a store that takes no batch while it is in trouble.
type troubled struct {
	*store.Store
	trouble error
}

func (s *troubled) CommitBatch(ctx context.Context, b ingest.BatchCommit) (ingest.BatchResult, error) {
	if s.trouble != nil && b.No > 1 {
		return ingest.BatchResult{}, fmt.Errorf("commit batch: %w", s.trouble)
	}
	return s.Store.CommitBatch(ctx, b)
}

// A store that is full or away is the trouble of the process, not of the slice:
// however often that happens, the task has all its attempts left.
func TestTroubleOfTheStoreCostsNoAttempt(t *testing.T) {
	for _, c := range []struct {
		trouble error
		code    fault.Code
		status  ingest.TaskStatus
		told    bool // whoever dispatches is to wait
	}{
		{fault.ErrFull, fault.StoreFull, ingest.TaskQueued, true},
		{fault.ErrBusy, fault.StoreBusy, ingest.TaskScheduled, false},
	} {
		t.Run(string(c.code), func(t *testing.T) {
			s := setup{settings: []string{"retry.taskAttempts=2"}, config: Config{MaxIdleLeases: 3}}
			replayable(&s)
			inWorld(t, s, func(w *world) {
				db := &troubled{w.store, c.trouble}
				for range 6 {
					outcome, err := w.executor(db).Execute(w.Context(), w.claim("worker"))
					if c.told != errors.Is(err, fault.ErrFull) || !c.told && err != nil {
						t.Fatalf("dispatch is told %v", err)
					}
					if outcome.Task != c.status || outcome.Run != ingest.RunCancelled || outcome.Code != string(c.code) {
						t.Fatalf("%+v", outcome)
					}
					w.clock.advance(betweenRuns.Longest * 2)
					_, err = w.store.Promote(w.Context(), 10)
					w.must(err)
				}
				db.trouble = nil
				outcome, err := w.executor(db).Execute(w.Context(), w.claim("worker"))
				if err != nil || outcome.Task != ingest.TaskSucceeded {
					t.Fatalf("%+v, %v", outcome, err)
				}
				w.covered()
				w.nothingLost()
			})
		})
	}
}

// A database that is damaged stays so until a person acts: asking the upstream for the same pages
// again would bring nothing. What the slice had stays owed.
func TestADamagedDatabaseIsNotTriedAgain(t *testing.T) {
	for _, trouble := range []error{fault.ErrDamaged, fault.ErrBroken} {
		s := setup{settings: []string{"retry.taskAttempts=5"}}
		replayable(&s)
		inWorld(t, s, func(w *world) {
			db := &troubled{w.store, trouble}
			outcome, err := w.executor(db).Execute(w.Context(), w.claim("worker"))
			if err != nil || outcome.Task != ingest.TaskFailed || outcome.Run != ingest.RunFailed {
				t.Fatalf("%v: %+v, %v", trouble, outcome, err)
			}
		})
	}
}
