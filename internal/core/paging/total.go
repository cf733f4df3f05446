package paging

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// Expects reports whether a walk is compared with the announced total. Compiling a
// source fills ExpectTotal in; a snapshot from before that says nothing, and means
// what it meant then (I10).
func (c Config) Expects() bool { return c.ExpectTotal != nil && *c.ExpectTotal }

// totalIsEstimate reports that the source calls its total an estimate: it neither ends
// a walk nor fails one.
func (c Config) totalIsEstimate() bool { return c.ExpectTotal != nil && !*c.ExpectTotal }

// isShort reports that a pass delivered less than was announced. Items leave a
// window while it is read, before or after they were delivered, so the total may
// fall a little, also below what came. An upstream that suddenly announces far less,
// or nothing, is not believed and the first total stands.
func (s State) isShort() bool {
	expected := s.Total
	if fallen := s.First - s.Total; fallen > s.First/shrinkShare {
		expected = s.First
	}
	return s.Total < 0 || int64(s.Seen) < expected
}

// Shifted reports that pages which are counted may have moved although the order is
// declared stable: the total fell, so an item left the list. If it had been read, all
// behind it moved up one place, and one of them was on no page (I2).
func (c Config) Shifted(end State) bool {
	return c.Expects() && (c.Type == Offset || c.Type == Page) && end.Fell
}

// shrinkShare: a total may fall by one in this many during a pass.
const shrinkShare = 100

// shortCount says what is missing from a walk that came to its end, and what to
// do where the source file may be to blame.
func (c Config) shortCount(next State, o Observation) *fault.Error {
	if next.Total < 0 {
		where := "response.total"
		if o.TotalAt != "" {
			where = o.TotalAt + " (response.total)"
		}
		return fault.Newf(fault.ShortCount, "the list ended after %d items, and nothing stood at %s on any of its %d pages, so it is unknown whether these were all; "+
			"correct the path, or drop response.total if the upstream does not count, or say paging.expectTotal: false if the total is an estimate and may be missing", next.Seen, where, next.Pages)
	}
	hint := ""
	if next.Most > c.Size {
		hint = fmt.Sprintf("; pages held up to %d items where %d were asked for, and the items beyond that do not count: is paging.size what the upstream serves?", next.Most, c.Size)
	}
	if o.NextAt != "" && (c.Type == Token || c.Type == URL) {
		hint += fmt.Sprintf("; nothing stood at %s of its last page: is that the path of the next page?", o.NextAt)
	}
	f := fault.Newf(fault.ShortCount, "the upstream delivered %d items; it announced %d at first and %d at last%s", next.Seen, next.First, next.Total, hint)
	if (c.Type == Token || c.Type == URL) && next.Pages == 1 && !next.Short {
		f.At = o.NextAt // a full first page of several: a wrong path would look like this, always
	}
	return f
}
