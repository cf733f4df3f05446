package executor

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// turnToAxis lets a slice that holds more than the upstream serves be read part by part
// of its second axis, where its time cannot be cut finer (D§5.12). Without such an axis the
// fault stands. So it does where the upstream does not say how much there is: nobody could
// tell then whether the parts are all of it (I2).
func (l *listWalk) turnToAxis(next listPass, d paging.Decision) (listPass, paging.Decision) {
	if _, reading := l.pass.axis.InHand(); reading {
		l.pass.axis = nil // the axis is cut anew
		d.Err = fault.Newf(fault.ShortCount, "a part of the window (slicing.second) grew while it was read: %v", d.Err)
		return next, d
	}
	counted := d.Next.Total > int64(l.program.Paging.MaxResults)
	if l.program.Slicing.Second == nil || !counted || l.canCut(l.leftWindow()) {
		return next, d
	}
	d.Next, d.Err = l.program.Paging.First(), nil
	d.Why = "more than one query serves: read in parts by " + l.program.Slicing.Second.Field
	next = next.withAxis(&slicing.AxisWalk{})
	return next, d
}

// withAxis returns the pass through the next part. What was read and rejected counts for
// the slice.
func (p *listPass) withAxis(axis *slicing.AxisWalk) listPass {
	config := p.config
	config.Size = p.begun
	next := newPass(config, p.feed.again(), p.no+1)
	next.axis, next.read, next.rejected = axis, p.read, p.rejected
	return next
}

// standOnAxis makes the axis of a slice ready for its next page. Before the first part it
// is cut. Behind the last one the slice is done if the upstream still counts as many items
// as were read. ready says that a page is to be read.
func (l *listWalk) standOnAxis(ctx context.Context) (done, ready bool, err error) {
	switch axis := l.pass.axis; {
	case axis == nil:
		return false, true, nil
	case axis.Ended():
		done, err = l.endAxis(ctx)
		return done, false, err
	case !axis.Cut:
		return false, true, l.cutAxis(ctx)
	}
	return false, true, nil
}

// cutAxis has the upstream count until every part is one that it serves whole.
func (l *listWalk) cutAxis(ctx context.Context) error {
	axis := l.program.Slicing.Second
	parts, err := axis.Cut(int64(l.program.Paging.MaxResults), l.countPart(ctx))
	if err != nil {
		return err
	}
	l.pass.axis = &slicing.AxisWalk{Cut: true, Left: parts}
	l.question = nil
	l.line().Info("slice is read in parts", "by", axis.Field, "parts", len(parts))
	return nil
}

// endAxis ends a slice whose parts are read. Those that changed meanwhile are read again
// first. Details that are still missing are asked for
// once more first.
func (l *listWalk) endAxis(ctx context.Context) (done bool, err error) {
	again, err := l.pass.axis.Prove(l.countPart(ctx))
	if err != nil {
		return false, err
	}
	if again != nil {
		l.pass, l.question = l.pass.withAxis(again), nil
		return false, nil
	}
	l.widenSample(ctx, l.pass)
	if tooMany := l.judgeRejects(l.pass, l.ids); tooMany != nil {
		return false, tooMany
	}
	if !l.delivery.listsIDs() {
		return true, nil
	}
	l.ids = l.ids.Found(nil, true)
	return l.ids.Done(), nil
}

// countPart returns what asks how many items of the window a part has.
func (l *listWalk) countPart(ctx context.Context) func(slicing.AxisPart) (int64, error) {
	return func(s slicing.AxisPart) (int64, error) {
		ask := func() (*spec.Question, error) { return l.program.AskPart(l.asked, s, l.lastSeen) }
		if s.IsWhole() {
			ask = func() (*spec.Question, error) { return l.program.Ask(l.asked, l.lastSeen) }
		}
		question, err := ask()
		if err != nil {
			return 0, renderFault(err)
		}
		return l.countItems(ctx, question)
	}
}

// countItems asks for the total of a question with as small a page as there is. The answer is
// not stored: what it brings comes with a part.
func (l *listWalk) countItems(ctx context.Context, question *spec.Question) (int64, error) {
	request, err := question.First(true)
	if err != nil {
		return 0, renderFault(err)
	}
	request.Replayable = true
	a, err := l.fetchAnswer(ctx, l.program, request, l.retryPolicy())
	if err != nil {
		return 0, err
	}
	if a.page.Says.Total == nil {
		return 0, fault.Newf(fault.BadBody, "nothing stood at %s (response.total), so the parts of the window cannot be counted (slicing.second)", a.page.Says.TotalAt)
	}
	return *a.page.Says.Total, nil
}

// askInHand returns the question of the slice, or of the part in hand.
func (l *listWalk) askInHand() (*spec.Question, error) {
	if s, ok := l.pass.axis.InHand(); ok {
		return l.program.AskPart(l.asked, s, l.lastSeen)
	}
	return l.program.Ask(l.asked, l.lastSeen)
}
