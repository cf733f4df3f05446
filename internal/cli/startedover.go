package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// restarts tells whoever started the work why a slice is read from its first page
// again: for hours of work that seem to stand still there must be a reason to read,
// without -v. It asks the store, because another process may do the work.
type restarts struct {
	say  func(format string, args ...any)
	told map[int64]int // by task: how many times were told of
	seen map[int64]int // by plan: how many there were when it was looked at

	asked time.Time // when open work was looked at
}

func newRestarts(say func(format string, args ...any)) *restarts {
	return &restarts{say: say, told: map[int64]int{}, seen: map[int64]int{}}
}

// look is told how far a plan has come. It asks only if something started over since.
func (r *restarts) look(ctx context.Context, app *daemon.App, p view.Progress) {
	if p.Stats.Restarts <= r.seen[p.PlanID] {
		return
	}
	found, err := app.Conditions.ListStartedOverIn(ctx, p.PlanID)
	if err != nil {
		return // it is asked again with the next page
	}
	r.seen[p.PlanID] = p.Stats.Restarts
	r.tell(found)
}

// lookOpen is look for work on many plans: what is open of a source and started over
// more often than is usual.
func (r *restarts) lookOpen(ctx context.Context, app *daemon.App, source string, now time.Time) {
	if now.Sub(r.asked) < stallAfter {
		return
	}
	r.asked = now
	if found, err := app.Conditions.ListStartedOver(ctx, source); err == nil {
		r.tell(found)
	}
}

// tellEvery is how many further times a slice may start over before it is said again.
const tellEvery = 5

// tell says it the first time, when it happens more often than is usual, and then
// now and then.
func (r *restarts) tell(found []view.StartedOver) {
	for _, f := range found {
		told := r.told[f.TaskID]
		news := told == 0 || told <= ingest.UsualRestarts && f.Restarts > ingest.UsualRestarts || f.Restarts >= told+tellEvery
		if f.Restarts == 0 || !news {
			continue
		}
		r.told[f.TaskID] = f.Restarts
		r.say("%s", printable(startedOverText(f)))
	}
}

// startedOverText is what a bar and a status say of a slice.
func startedOverText(f view.StartedOver) string {
	text := fmt.Sprintf("the slice %s started over %s: %s", brief(f.Window), counted(f.Restarts, "time"), short(dash(f.Reason), 300))
	if f.Restarts > ingest.UsualRestarts {
		text += fmt.Sprintf("; `patra task show %d` tells more, smaller slices (slicing.step) start over less often", f.TaskID)
	}
	return text
}
