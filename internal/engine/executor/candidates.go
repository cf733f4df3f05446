package executor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// candidateWalk goes through the candidates of an UPDATE by ids: they take the place of a
// search, and each of them is asked for as a found id is (§6.3.3).
type candidateWalk struct {
	*taskRun
	ingest.CandidateLook
}

// anyTime keeps what a DETAIL endpoint delivers, whatever its date: what was asked
// for is an id.
var anyTime = window.Window{From: time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}

// newCandidateWalk returns the walk of a slice that looks at a range of what is stored.
func newCandidateWalk(r *taskRun, s slicing.Spec) *candidateWalk {
	return &candidateWalk{taskRun: r, CandidateLook: ingest.CandidateLook{
		DatasetID: r.work.DatasetID, Spec: *s.Refresh, From: s.Range.From, To: s.Range.To, Before: s.Window.To,
	}}
}

// next takes the next candidates in hand. Those whose answer is kept are mapped from it;
// the others are asked for.
func (w *candidateWalk) next(ctx context.Context) (done bool, err error) {
	if w.ids.Done() {
		return true, nil
	}
	w.After = w.position
	page, err := w.executor.store.LookAtCandidates(ctx, w.CandidateLook)
	if err != nil {
		return false, err
	}
	ask, err := w.remapCandidates(ctx, page.Found)
	if err != nil {
		return false, err
	}
	if page.Next != "" {
		w.position = page.Next
	}
	if !w.delivery.asksByID() {
		w.stats.Refresh.Left += len(ask)
		ask = nil
	}
	w.ids = w.ids.Found(ask, page.Last).Bury(tombstonesIn(page.Found, ask))
	return w.ids.Done(), nil
}

// requestElsewhere returns an error: what is stored is no list of which another page could be
// asked for.
func (w *candidateWalk) requestElsewhere() (*exchange.Request, error) {
	return nil, errors.New("an update by ids has no list")
}

// startsOver reports false: there is no token that could be lost.
func (w *candidateWalk) startsOver(*fault.Error) bool { return false }

// explainEnd returns the error as it is.
func (w *candidateWalk) explainEnd(_ context.Context, cause error) error { return cause }

// endsEarly puts a task back whose budget is used up. Nothing is lost by stopping: the next
// run goes on behind the last candidate.
func (w *candidateWalk) endsEarly(code fault.Code) (ingest.TaskStatus, ingest.RunStatus, bool) {
	return ingest.TaskQueued, ingest.RunCancelled, code == fault.Budget
}

// tombstonesIn returns the tombstones among the ids that are asked for.
func tombstonesIn(found []ingest.Candidate, ask []string) (ids []string) {
	for _, c := range found {
		if c.Gone && slices.Contains(ask, c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// idsOnce leaves out ids that this run was told of before: two signals may name
// one record.
func (w *candidateWalk) idsOnce(found []ingest.Candidate) (ids []string) {
	for _, c := range found {
		if w.Policy == refresh.ByAge || w.Policy == refresh.ByChange || w.detail.isNew(c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
