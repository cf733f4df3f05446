package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// fillBounds settles what of a window a request can name, where the file says it by
// one of two keys: window.updatedSince: false is another way to write filter.bounds: NONE.
// A list whose order is named is sorted.
func (r *Resolved) fillBounds(said query.Ends, since *bool) {
	r.Window.Ordered = r.Window.Ordered || r.Window.Order != ""
	switch {
	case said == "" && since != nil && !*since:
		r.Filter.Ends = query.NoEnds
	case said == query.NoEnds && since == nil:
		no := false
		r.Window.UpdatedSince = &no
	}
}

// asksByDate reports whether requests of the endpoint are made for windows: those of an
// UPDATE are where its filter says that they can name less than both ends.
func (r *Resolved) asksByDate() bool {
	if r.hasNoWindow() || r.Filter.Field == "" {
		return false
	}
	return r.Operation != opUpdate || r.Filter.Ends == query.FromOnly || r.Filter.Ends == query.OneUnit
}

// checkBounds refuses a request that does not name what filter.bounds says it names:
// a slice would claim what was never asked for. Nothing switches this off (D§5.26).
// byRule: a rule of the query section writes the window.
func (r *Resolved) checkBounds(byRule bool) Problems {
	if !r.asksByDate() {
		return nil
	}
	if out := r.checkSince(); len(out) > 0 {
		return out
	}
	switch r.Filter.Ends {
	case query.OneUnit:
		return slices.Concat(r.checkUnitSent(byRule), r.checkUnitCut())
	case query.NoEnds:
		return slices.Concat(r.checkNothingSent(byRule), r.checkPlaces())
	case query.FromOnly:
		return slices.Concat(r.checkFromSent(byRule), r.checkPlaces())
	}
	return r.checkBothSent(byRule)
}

// checkSince refuses a file whose two keys about the same thing disagree.
func (r *Resolved) checkSince() Problems {
	said := r.isGiven(Path{"window", "updatedSince"})
	if since := *r.Window.UpdatedSince; !said || since == (r.Filter.Ends != query.NoEnds) {
		return nil
	}
	return Problems{r.problemAt(Path{"window", "updatedSince"},
		fmt.Sprintf("E-WINDOW-BOUNDS: filter.bounds is %s, but window.updatedSince is %t", r.Filter.Ends, *r.Window.UpdatedSince),
		"filter.bounds says it all: drop window.updatedSince")}
}

// checkBothSent refuses a request that the window never reaches: it would select
// everything, or the same part again and again, without any sign of it. A rule that is
// there may still never fit. What rules emit is checked by checkParams.
func (r *Resolved) checkBothSent(byRule bool) Problems {
	if out := r.unwanted("filter.at"); len(out) > 0 {
		return out
	}
	if reads := r.readVariables(); reads["filter.from"] && reads["filter.to"] || byRule {
		return nil
	}
	return Problems{r.problemAt(Path{"request"}, "E-WINDOW-UNSENT: the window never reaches the request",
		fmt.Sprintf("send ${filter.from} and ${filter.to}, which know what the filter can express, or write a RANGE rule for the field %q that fits its values; "+
			"filter.bounds says that an upstream takes less than both ends", r.Filter.Field))}
}

// checkFromSent refuses a request that does not name where the slice begins, and one that
// names more: then it is not the end of the list that ends a slice.
func (r *Resolved) checkFromSent(byRule bool) Problems {
	out := r.unwanted("filter.to", "window.to", "filter.at")
	if byRule {
		out = append(out, r.problemAt(Path{"query", "rules"}, fmt.Sprintf("E-WINDOW-BOUNDS: a rule writes both ends of the window for the field %q, but filter.bounds is FROM", r.Filter.Field),
			"send ${filter.from} instead, or use filter.bounds: BOTH"))
	}
	if !r.readVariables()["filter.from"] {
		out = append(out, r.problemAt(Path{"request"}, "E-WINDOW-UNSENT: the start of the window never reaches the request", "send ${filter.from} (filter.bounds: FROM)"))
	}
	if r.Response.Filtered.IsZero() {
		out = append(out, r.problemAt(Path{"filter", "bounds"}, "E-WINDOW-SUPPORT: with FROM items behind the window come too, so they must carry the date the filter selects by (response.filtered), to tell how far a list was read", ""))
	}
	if r.Paging.Type == paging.Time && !r.Window.Ordered {
		out = append(out, r.problemAt(Path{"paging", "type"}, "E-PAGING-TIME: paging by TIME over a list without an upper bound needs an upstream that sorts by date", "declare window.ordered: true if it does"))
	}
	return out
}

// checkPlaces refuses to believe that places in a list stay what they are where the list
// has no upper bound: an item that changes while pages are read leaves its place and comes
// again at another one, the total stays the same, and the item that moved up into the
// place of one that was read is on no page (I2).
func (r *Resolved) checkPlaces() Problems {
	counted := r.Paging.Type == paging.Offset || r.Paging.Type == paging.Page
	if r.Operation == opUpdate || !counted || !*r.Paging.Stable {
		return nil
	}
	return Problems{r.problemAt(Path{"paging", "stable"}, fmt.Sprintf("E-WINDOW-BOUNDS: with filter.bounds %s items that change move within the list while its pages are counted (%s), so its order is not stable",
		r.Filter.Ends, r.Paging.Type), "drop paging.stable: pages are then read until two readings agree")}
}

// checkUnitSent refuses a request that does not name its unit.
func (r *Resolved) checkUnitSent(byRule bool) Problems {
	if r.Filter.Precision == query.Second || r.Filter.Precision == query.Minute {
		return Problems{r.problemAt(Path{"filter", "precision"}, fmt.Sprintf("E-WINDOW-UNIT: one request for each %s", r.Filter.Precision),
			"with filter.bounds: UNIT a request asks for an HOUR, a DAY, a MONTH or a YEAR")}
	}
	if reads := r.readVariables(); reads["filter.at"] || reads["filter.from"] && reads["filter.to"] || byRule {
		return nil
	}
	return Problems{r.problemAt(Path{"request"}, fmt.Sprintf("E-WINDOW-UNSENT: the %s never reaches the request", r.Filter.Precision),
		"send ${filter.at}, or ${filter.from} and ${filter.to} as the two ends of the unit (filter.bounds: UNIT)")}
}

// checkUnitCut refuses whatever would make a slice longer than the one unit that a request
// names: the rest of such a slice would count as read.
func (r *Resolved) checkUnitCut() Problems {
	var out Problems
	unit := r.Filter.Precision.Unit()
	refuse := func(path, what, hint string) {
		out = append(out, r.problemAt(strings.Split(path, "."), fmt.Sprintf("E-WINDOW-UNIT: a request names one %s (filter.bounds: UNIT), and %s", r.Filter.Precision, what), hint))
	}
	tooLong := fmt.Sprintf("the rest of it would count as read: use at most %s, or leave it out", duration.Duration(unit))
	if r.isGiven(Path{"slicing", "step"}) && r.Slicing.Step.Std() > unit {
		refuse("slicing.step", fmt.Sprintf("a slice would be up to %s", r.Slicing.Step), tooLong)
	}
	if r.Window.MinWindow.Std() > unit {
		refuse("window.minWindow", fmt.Sprintf("a slice would be at least %s", r.Window.MinWindow), tooLong)
	}
	if r.Slicing.Overlap > 0 {
		refuse("slicing.overlap", fmt.Sprintf("an overlap of %s reaches into the one before", r.Slicing.Overlap), "the request would name the wrong one: drop slicing.overlap")
	}
	for path, given := range map[string]bool{
		"slicing.targetRecords": r.Slicing.TargetRecords > 0, "slicing.maxPages": r.Slicing.MaxPages > 0,
		"slicing.mergeBelow": r.Slicing.MergeBelow > 0 && r.isGiven(Path{"slicing", "mergeBelow"}),
	} {
		if given {
			refuse(path, "slices are neither joined nor cut smaller", "drop "+path)
		}
	}
	return out
}

// checkNothingSent refuses a request that names a date although nothing selects by it:
// each slice would get another part of the list and count as read whole.
func (r *Resolved) checkNothingSent(byRule bool) Problems {
	hint := "say what the request names: filter.bounds: UNIT where it asks for one day or other unit, FROM where it sends the lower end alone, BOTH where it sends both"
	for _, t := range r.listTemplates() {
		if slices.ContainsFunc(t.names, tmpl.NamesWindow) {
			return Problems{r.problemAt(t.path, "E-WINDOW-BOUNDS: the request names a bound of the slice, but nothing is said to select by date "+r.saysNone(), hint)}
		}
	}
	if byRule {
		return Problems{r.problemAt(Path{"query", "rules"}, "E-WINDOW-BOUNDS: a rule writes the window into the request, but nothing is said to select by date "+r.saysNone(), hint)}
	}
	return nil
}

// saysNone names the key by which a file says that nothing selects by date.
func (r *Resolved) saysNone() string {
	if r.isGiven(Path{"filter", "bounds"}) {
		return "(filter.bounds: NONE)"
	}
	return "(window.updatedSince: false)"
}

// unwanted refuses variables of the window that a request must not send.
func (r *Resolved) unwanted(names ...string) (out Problems) {
	for _, t := range r.listTemplates() {
		for _, name := range names {
			if slices.Contains(t.names, name) {
				out = append(out, r.problemAt(t.path, fmt.Sprintf("E-WINDOW-BOUNDS: the request sends ${%s}, but filter.bounds is %s", name, r.Filter.Ends),
					"let filter.bounds say what the upstream takes"))
			}
		}
	}
	return out
}

// checkWindowSupport checks rule 3: without a filter by date of change, items must
// come in order and carry the date by which we filter ourselves.
func (r *Resolved) checkWindowSupport() Problems {
	if r.Operation == opUpdate || r.hasNoWindow() || r.Filter.Ends != query.NoEnds || r.isGiven(Path{"snapshot"}) {
		return nil
	}
	var out Problems
	if !r.Window.Ordered || r.Response.Filtered.IsZero() {
		at := Path{"window", "updatedSince"}
		if r.isGiven(Path{"filter", "bounds"}) {
			at = Path{"filter", "bounds"}
		}
		out = append(out, r.problemAt(at,
			"E-WINDOW-SUPPORT: the upstream cannot select by date of change, so items must be sorted by it (window.order: DESC where the newest come first, ASC where the oldest do) and carry it (response.filtered)",
			"where they have no such date or order, read the whole list every time: snapshot: {every: P1D}; or let the endpoint serve UPDATE only: supports: [UPDATE]"))
	}
	if r.Paging.Type == paging.Time && !r.Window.Ordered {
		out = append(out, r.problemAt(Path{"paging", "type"}, "E-PAGING-TIME: paging by TIME needs an upstream that selects or sorts by date", "declare filter.bounds or window.ordered"))
	}
	return out
}
