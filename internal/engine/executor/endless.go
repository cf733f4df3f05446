package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/window"
)

// checkEndless looks whether cutting a slice that came to its limit could help. It asks
// for the first page of the first and of the last part. Two windows that share no instant
// cannot hold the same items: where both parts show the same, the window of the request
// is ignored, each part has all of the list again, and cutting would never end. The
// source is stopped then (NO_END).
//
// It is asked once, of the slice that was planned and not of its parts: what was honoured
// there is honoured here. That both parts come to their limit would prove nothing, so it
// is not waited for; a list that shows something else with every request is ended by the
// budget of its plan.
func (l *listWalk) checkEndless(ctx context.Context, cause error) error {
	var f *fault.Error
	if ctx.Err() != nil || l.part || !errors.As(cause, &f) || f.Code != fault.Budget && f.Code != fault.Capped || l.stats.Pages == 0 {
		return cause
	}
	if l.expectedItems(nil).Drop || l.program.ReadsWhole() {
		return fault.Newf(fault.NoEnd, "the upstream does not filter (filter.bounds: NONE), so each part of the window has the whole list again: "+
			"let one slice read all of it (slicing.maxRequests, maxRecords, paging.maxPages): %v", cause)
	}
	first, last, ok := l.firstAndLastPart()
	if !ok {
		return cause
	}
	one, two := l.fetchFirstPage(ctx, first), l.fetchFirstPage(ctx, last)
	if one == nil || two == nil {
		return cause
	}
	same := sameContent(one, two)
	if same == "" && sameTotal(one, two, l.pass.state) {
		same = l.narrowTotal(ctx, first, last)
	}
	if same == "" {
		return cause
	}
	return fault.Newf(fault.NoEnd, "the window of the request is ignored: the first pages of %s and of %s, which share no instant, have %s (%v); see filter and query of the source file", first, last, same, cause)
}

// firstAndLastPart returns the first and the last window that the slice would be cut
// into.
func (l *listWalk) firstAndLastPart() (first, last window.Window, ok bool) {
	parts, err := l.cutLeft(l.leftWindow())
	if err != nil || len(parts) < 2 {
		return first, last, false
	}
	return parts[0], parts[len(parts)-1], true
}

// fetchFirstPage asks for the first page of a window and returns it; nil if it did not
// come. It is not stored: whether the window is read is another question.
func (l *listWalk) fetchFirstPage(ctx context.Context, of window.Window) *extract.Page {
	failed := l.failed
	defer func() { l.failed = failed }()
	question, err := l.program.Ask(of, l.lastSeen)
	if err != nil {
		return nil
	}
	request, err := question.Sized(l.pass.config.Size).Page(l.pass.config.First())
	if err != nil {
		return nil
	}
	request.Replayable = true
	a, err := l.fetchAnswer(ctx, l.program, request, l.searchPolicy())
	if err != nil {
		return nil
	}
	return a.page
}

// sameContent names what two pages of windows that share no instant have in common
// although they cannot; empty if nothing does. One item may have changed in between and
// wandered from one to the other, and one date may be that of a whole import: it takes
// more than one.
func sameContent(one, two *extract.Page) string {
	switch {
	case len(one.Keys) > 1 && sameItems(one, two):
		return fmt.Sprintf("the same %d items", len(one.Keys))
	case one.Dated > 1 && one.Dated == two.Dated && one.Lowest.Before(one.Reached) && one.Lowest.Equal(two.Lowest) && one.Reached.Equal(two.Reached):
		return fmt.Sprintf("dates from %s to %s", window.Text(one.Lowest), window.Text(one.Reached))
	case sameStamps(one, two):
		return fmt.Sprintf("the same %d dates", len(one.Records))
	}
	return ""
}

// sameTotal reports that both parts announce the total of the whole.
func sameTotal(one, two *extract.Page, whole paging.State) bool {
	a, b := one.Says.Total, two.Says.Total
	return a != nil && b != nil && *a > 1 && *a == *b && *a == whole.Total
}

// narrowTotal asks for the total of as little as can be asked for at either end. Many
// upstreams stop counting at some number, and say that for every window that holds more;
// for two of the shortest ones they hardly do.
func (l *listWalk) narrowTotal(ctx context.Context, first, last window.Window) string {
	least := l.program.Slicing.MinStep.Std()
	start := window.Window{From: first.From, To: l.program.Filter.Cut(first.From.Add(least))}
	end := window.Window{From: l.program.Filter.Cut(last.To.Add(-least)), To: last.To}
	if start.Empty() || end.Empty() || start.Overlaps(end) || l.pass.state.Total == int64(l.program.Paging.MaxResults) {
		return ""
	}
	one, two := l.fetchFirstPage(ctx, start), l.fetchFirstPage(ctx, end)
	if one == nil || two == nil || !sameTotal(one, two, l.pass.state) {
		return ""
	}
	return fmt.Sprintf("the total of the whole, %d, and so have the shortest windows at either end", l.pass.state.Total)
}

// fewestStamps is how many different dates two lists must have in common. They need not
// be what the filter selects by, so a few may be alike for another reason.
const fewestStamps = 3

// sameStamps reports whether the records of two pages have the same dates in the same
// order.
func sameStamps(one, two *extract.Page) bool {
	if len(one.Records) != len(two.Records) {
		return false
	}
	different := map[time.Time]bool{}
	for i, in := range one.Records {
		if !in.UpdatedAt.Equal(two.Records[i].UpdatedAt) {
			return false
		}
		different[in.UpdatedAt] = true
	}
	return len(different) >= fewestStamps
}

// sameItems reports whether two pages have the same ids, in whatever order.
func sameItems(one, two *extract.Page) bool {
	if len(one.Keys) != len(two.Keys) {
		return false
	}
	var a, b paging.Digest
	for i := range one.Keys {
		a, b = a.With(keyHalves(one.Keys[i])), b.With(keyHalves(two.Keys[i]))
	}
	return a == b
}
