package executor

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/window"
)

// feed is how far a pass has come through a list that nobody filters and that is sorted by
// the followed date: it ends where the dates have passed the window (D§5.26).
type feed struct {
	order   window.Order // as declared; empty: the list is read to its end
	trend   window.Trend // what was seen of it
	resumed bool         // another run read the first pages, so nobody knows their items
	passed  bool         // the pass ended before the end of the list

	// Where the newest come first, an item that leaves the list before the window lets
	// one of the window slip to a page that was read. Who leaves is seen by the next pass.
	ahead   map[uint64]struct{} // items behind the window that this run saw in this pass
	missing map[uint64]struct{} // those of the pass before that this one has not seen; nil: nobody knows
}

// again returns the feed of the pass that follows a whole one.
func (f feed) again() feed {
	next := f.restarted()
	if f.order == window.Descending && !f.resumed {
		if next.missing = f.ahead; next.missing == nil {
			next.missing = map[uint64]struct{}{}
		}
	}
	return next
}

// restarted returns the feed of a pass that begins anew: an order that was found broken
// stays broken.
func (f feed) restarted() feed { return feed{order: f.order, trend: f.trend.Restarted()} }

// noneLeft reports whether everything that stood before the window in the pass before still
// stands there. In a rising list nothing stands there that matters.
func (f feed) noneLeft() bool {
	return f.order != window.Descending || f.missing != nil && len(f.missing) == 0
}

// noteOrder takes note of the dates of the new items of a page. One that came before says
// nothing of the order: it was pushed to a later page by another.
func (p *listPass) noteOrder(page *extract.Page, fresh []int) {
	if p.order == "" {
		return
	}
	switch {
	case page.Undated > 0:
		p.trend.Break("an item has no date (response.filtered), and others like it may stand anywhere in the list")
	case len(page.Keys) > 0 && len(fresh) == 0 && !p.isMoving():
		p.trend.Break("a page held only items of earlier ones, so what belonged there did not come")
	}
	for _, i := range fresh {
		if i < len(page.Dates) && !page.Dates[i].Empty() {
			p.trend.Note(p.order, page.Dates[i])
		}
	}
	if p.order != window.Descending || !p.isMoving() {
		return
	}
	if p.ahead == nil {
		p.ahead = map[uint64]struct{}{}
	}
	for _, i := range page.Later {
		id, _ := keyHalves(page.Keys[i])
		p.ahead[id] = struct{}{}
		delete(p.missing, id)
	}
}

// checkOrder looks whether a list still is in its order. A run that goes on in the middle
// does not know the items of the pages before, and one that was pushed to a later page
// meanwhile looks like a newer one: then the pass begins again, and knows them all.
func (l *listWalk) checkOrder(next listPass) error {
	if next.trend.Unsorted == "" || l.pass.trend.Unsorted != "" {
		return nil
	}
	if next.resumed {
		return fault.Newf(fault.TokenLost, "the run before ended in the middle of a list that moves, and what follows is not in its order: %s", next.trend.Unsorted)
	}
	l.stats.Unsorted++
	l.line().Warn("the list is not sorted as its file says, so all of it is read", "reason", next.trend.Unsorted, "page", next.state.Pages+1)
	return nil
}

// endFeed ends a pass whose dates have passed the window, by the lookback of the source. A
// limit that it would have come to does not matter then.
func (l *listWalk) endFeed(next *listPass, d paging.Decision) paging.Decision {
	if unsorted := next.trend.Unsorted; unsorted != "" && l.pass.trend.Unsorted == "" {
		d.Why += "; not sorted as declared, so the whole list is read: " + unsorted
	}
	if d.Done || next.order == "" || !next.trend.Passed(next.order, l.asked, l.program.Window.Lookback.Std()) {
		return d
	}
	edge := "older than " + window.Text(l.asked.From)
	if next.order == window.Ascending {
		edge = "not older than " + window.Text(l.asked.To)
	}
	next.passed = true
	return paging.Decision{Next: d.Next, Done: true, Why: fmt.Sprintf("the items are %s, in a list that was seen to be sorted (window.order: %s)", edge, next.order)}
}
