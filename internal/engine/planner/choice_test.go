package planner

import (
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Parents are left out only in time that was read for all of them and did not fail since, and beyond what was read. Whatever
// else is owed is asked of all, and so is what a person names.
func TestParentsAreLeftOutOnlyWhereAllWereRead(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2025, 3, n, 0, 0, 0, 0, time.UTC) }
	w := func(from, to int) window.Window { return window.Window{From: day(from), To: day(to)} }
	b := Inputs{Parents: &Parents{}, Own: coverage.State{Segments: []coverage.Segment{
		{Window: w(1, 2), Want: day(10)},                  // never read
		{Window: w(2, 4), Want: day(10), Have: day(10)},   // read
		{Window: w(4, 5), Want: day(11), Have: day(10)},   // read, and wanted again
		{Window: w(5, 6), Want: day(10), Waived: day(11)}, // given up
	}}}
	d := &drawing{opens: &slicing.Opening{To: day(9), Picked: &slicing.Picked{Turns: w(7, 9)}}}
	if got := d.choiceOf(b, Request{}).Within; !slices.Equal(got, []window.Window{w(2, 4), w(7, 9)}) {
		t.Errorf("%v", got)
	}
	from := day(2)
	if got := d.choiceOf(b, Request{From: &from}); got != nil {
		t.Errorf("%+v", got)
	}
	d.opens.Picked = nil
	if got := d.choiceOf(b, Request{}); got != nil {
		t.Errorf("%+v", got)
	}
}
