package executor

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/window"
)

// provenLeft is what is left of a slice that ends early. The dates of items say how
// far a sorted walk has come, but the upstream filters by its own ones, and the two
// may differ (D§5.11). So the rest is asked for once: if it begins with an item that
// was read, everything before it in the order was read too. If not, items may lie
// between the two, and all of the slice stays owed (I2, D§5.26).
func (r *running) provenLeft(ctx context.Context) window.Window {
	whole, left := r.work.Window, r.left()
	if left == whole || r.meets(ctx, left) {
		return left
	}
	return whole
}

// meets reports whether the first page of a window has an item that this run read.
func (r *running) meets(ctx context.Context, rest window.Window) bool {
	failed := r.failed
	defer func() { r.failed = failed }() // whether this was answered is no part of the story
	question, err := r.program.Ask(rest, r.lastSeen)
	if err != nil {
		return false
	}
	request, err := question.Sized(r.walk.config.Size).Page(r.walk.config.First())
	if err != nil {
		return false
	}
	request.Replayable = true
	a, err := r.fetch(ctx, r.program, request, r.policy())
	if err != nil {
		return false
	}
	_, _ = a.kept()
	for _, key := range a.page.Keys {
		if high, _ := halves(key); r.walk.tally.Has(high) {
			return true
		}
	}
	return false
}
