package executor

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/window"
)

// provenLeft returns what is left of a slice that ends early. The dates of items say how
// far a sorted walk has come, but the upstream filters by its own ones, and the two may
// differ (D§5.11). So the rest is asked for once: if it begins with an item that was
// read, everything before it in the order was read too. If not, items may lie between the
// two, and all of the slice stays owed (I2, D§5.26).
func (l *listWalk) provenLeft(ctx context.Context) window.Window {
	whole, left := l.work.Window, l.leftWindow()
	if left == whole || l.beginsWithRead(ctx, left) {
		return left
	}
	return whole
}

// endsBehindWindow reports whether a list without an upper bound has come behind the
// slice: it is sorted by the followed date, was seen to be, and its dates have passed the
// end of the slice. That is proven as a prefix is. The rest of the list is not read then.
func (l *listWalk) endsBehindWindow(ctx context.Context) (bool, error) {
	p := &l.pass
	passed := p.rises() && !p.isMoving() && !l.program.Filter.Cut(p.reached.At).Before(l.asked.To)
	if !passed || l.doubted || l.program.Ends() != query.FromOnly || !l.program.Window.Ordered || l.delivery.listsIDs() {
		return false, nil
	}
	if l.doubted = !l.beginsWithRead(ctx, window.Window{From: l.asked.To, To: p.reached.At.Add(time.Second)}); l.doubted {
		return false, ctx.Err()
	}
	l.widenSample(ctx, *p)
	if tooMany := l.judgeRejects(*p, l.ids); tooMany != nil {
		return false, tooMany
	}
	return true, nil
}

// beginsWithRead reports whether the first page of a window has an item that this run read.
func (l *listWalk) beginsWithRead(ctx context.Context, rest window.Window) bool {
	failed := l.failed
	defer func() { l.failed = failed }() // whether this was answered is no part of the story
	question, err := l.program.Ask(rest, l.lastSeen)
	if err != nil {
		return false
	}
	request, err := question.Sized(l.pass.config.Size).Page(l.pass.config.First())
	if err != nil {
		return false
	}
	request.Replayable = true
	a, err := l.fetchAnswer(ctx, l.program, request, l.retryPolicy())
	if err != nil {
		return false
	}
	for _, key := range a.page.Keys {
		if high, _ := keyHalves(key); l.pass.tally.Has(high) {
			return true
		}
	}
	return false
}
