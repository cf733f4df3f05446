package reason

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// RestartHint tells whoever started the work why a slice is read from its first page
// again: for hours of work that seem to stand still there must be a reason to read,
// without -v. It asks the store, because another process may do the work.
type RestartHint struct {
	say  func(format string, args ...any)
	told map[int64]int // by task: how many times were told of
	seen map[int64]int // by plan: how many there were when it was looked at

	asked time.Time // when open work was looked at
}

func NewRestartHint(say func(format string, args ...any)) *RestartHint {
	return &RestartHint{say: say, told: map[int64]int{}, seen: map[int64]int{}}
}

// Look is told how far a plan has come. It asks only if something started over since.
func (r *RestartHint) Look(ctx context.Context, app *daemon.App, p view.Progress) {
	if p.Stats.Restarts <= r.seen[p.PlanID] {
		return
	}
	found, err := app.Conditions.ListStartedOverIn(ctx, p.PlanID)
	if err != nil {
		return // it is asked again with the next page
	}
	r.seen[p.PlanID] = p.Stats.Restarts
	r.tellSometimes(found)
}

// LookAtOpen tells of slices of a source that are open and started over more often than
// is usual. It is for commands that work on many plans.
func (r *RestartHint) LookAtOpen(ctx context.Context, app *daemon.App, source string, now time.Time) {
	if now.Sub(r.asked) < StallAfter {
		return
	}
	r.asked = now
	if found, err := app.Conditions.ListStartedOver(ctx, source); err == nil {
		r.tellSometimes(found)
	}
}

// tellEvery is how many further times a slice may start over before it is said again.
const tellEvery = 5

// tellSometimes says it the first time, when it happens more often than is usual, and then
// now and then.
func (r *RestartHint) tellSometimes(found []view.StartedOver) {
	for _, f := range found {
		told := r.told[f.TaskID]
		news := told == 0 || told <= ingest.UsualRestarts && f.Restarts > ingest.UsualRestarts || f.Restarts >= told+tellEvery
		if f.Restarts == 0 || !news {
			continue
		}
		r.told[f.TaskID] = f.Restarts
		r.say("%s", term.Printable(wording.StartedOverText(f)))
	}
}
