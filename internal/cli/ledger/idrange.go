package ledger

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// rangeOfTask returns the ids that a task works on, nil if it reads a window of time.
func rangeOfTask(ctx context.Context, app *daemon.App, taskID int64) (*slicing.Range, error) {
	tasks, err := app.Tasks.List(ctx, view.Filter{TaskID: taskID, Limit: 1})
	if err != nil || len(tasks) == 0 || tasks[0].SliceID == 0 {
		return nil, err
	}
	slice, err := app.Plans.ShowSlice(ctx, tasks[0].SliceID)
	if err != nil {
		return nil, err
	}
	return rangeOf(slice.Spec), nil
}

// rangeOf reads the range of ids out of a stored slice.
func rangeOf(stored json.RawMessage) *slicing.Range {
	var spec struct{ Range *slicing.Range }
	if json.Unmarshal(stored, &spec) != nil {
		return nil
	}
	return spec.Range
}

// rangeText says which ids a slice works on.
func rangeText(g *slicing.Range) string {
	if g == nil {
		return "-"
	}
	what := map[string]string{"batch_id": "records of batches", "signal_id": "signals", "quarantine_id": "rejects"}[g.Key]
	switch {
	case g.Kind == slicing.Hash || g.Kind == slicing.HashBucket:
		what = "ids whose hash is in"
	case what == "":
		what = g.Key
	}
	to := wording.Shorten(g.To, tokenWidth)
	if to == "" {
		to = "…"
	}
	return fmt.Sprintf("%s [%s, %s), chosen at %s", what, wording.Shorten(g.From, tokenWidth), to, window.Text(g.AsOf))
}
