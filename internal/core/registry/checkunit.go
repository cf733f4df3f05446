package registry

import (
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// checkWindowUnit refuses slices longer than the unit a request can name. Where the
// upstream does not select by date, a request may still name the day it wants; a
// slice of several days would then be asked for its first day and count as read.
// window.updatedSince switches this check on, and nothing switches it off (D§5.26).
func (r *Resolved) checkWindowUnit() Problems {
	since := r.Window.UpdatedSince == nil || *r.Window.UpdatedSince
	if since || r.Operation == opUpdate || r.Role == roleDetail || r.Filter.Field == "" || r.Filter.Validate() != nil {
		return nil
	}
	sent := slices.IndexFunc(r.listTemplates(), func(t template) bool { return slices.ContainsFunc(t.names, tmpl.NamesWindow) })
	if sent < 0 {
		return nil // whole lists are read and filtered here
	}
	unit := r.Filter.Precision.Unit()
	names := fmt.Sprintf("%s names one %s of the filter, and nothing else selects by date (window.updatedSince: false)", r.listTemplates()[sent].path, r.Filter.Precision)
	refuse := func(path Path, value duration.Duration, what string) Problem {
		return r.problemAt(path, fmt.Sprintf("E-WINDOW-UNIT: %s, but %s %s", names, what, value),
			fmt.Sprintf("the rest of such a slice would count as read: use at most %s, or send the whole window with ${filter.from} and ${filter.to} and drop window.updatedSince", duration.Duration(unit)))
	}
	var out Problems
	if r.Slicing.Step.Std() > unit {
		out = append(out, refuse(Path{"slicing", "step"}, r.Slicing.Step, "a slice is up to"))
	}
	if r.Window.MinWindow.Std() > unit {
		out = append(out, refuse(Path{"window", "minWindow"}, r.Window.MinWindow, "a slice is at least"))
	}
	if r.Slicing.Overlap > 0 {
		out = append(out, r.problemAt(Path{"slicing", "overlap"}, fmt.Sprintf("E-WINDOW-UNIT: %s, and an overlap of %s reaches into the one before", names, r.Slicing.Overlap),
			"the request would name the wrong one: drop slicing.overlap"))
	}
	return out
}
