package spec

import (
	"fmt"
	"maps"
	"slices"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/tmpl"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Ends returns what of a window a request names (filter.bounds). A snapshot from before
// that key says it by window.updatedSince and by its request: where the upstream does
// not select by date, and still a bound of the slice is sent, that names one unit.
func (s Snapshot) Ends() query.Ends {
	switch {
	case s.Filter.Ends != "":
		return s.Filter.Ends
	case s.Filter.Field == "" || s.Operation == ingest.Update || s.Window.UpdatedSince == nil || *s.Window.UpdatedSince:
		return query.BothEnds
	case s.namesWindow():
		return query.OneUnit
	}
	return query.NoEnds
}

// namesWindow reports whether a template of the request names a bound of the slice.
func (s Snapshot) namesWindow() bool {
	for _, text := range s.requestTexts() {
		compiled, err := tmpl.CompileWith(text, s.Templates)
		if err != nil {
			continue // refused where the request is compiled
		}
		if slices.ContainsFunc(compiled.Names(), tmpl.NamesWindow) {
			return true
		}
	}
	return false
}

// requestTexts returns the templates of a request.
func (s Snapshot) requestTexts() []string {
	out := []string{s.Request.Path, s.Request.Body}
	for _, part := range []map[string]string{s.Request.Headers, s.HTTP.Headers} {
		out = slices.AppendSeq(out, maps.Values(part))
	}
	for _, part := range []map[string]exchange.Texts{s.Request.Query, s.Request.Form} {
		for _, texts := range part {
			out = append(out, texts...)
		}
	}
	for _, p := range s.Params {
		out = append(out, p.Default)
	}
	return out
}

// CanAsk reports whether a request can ask for all of a window.
func (p *Program) CanAsk(w window.Window) bool { return p.checkUnit(w) == nil }

// OneSlice reports whether a request names no upper bound: whatever is asked for, the
// rest of the list comes too. So all that is owed is one slice, which reads it once.
func (s Snapshot) OneSlice() bool {
	ends := s.Ends()
	return ends == query.FromOnly || ends == query.NoEnds
}

// Feed returns the order by which a list without any bound is read only in part: until its
// dates have passed the window. Empty: it is read to its end.
func (s Snapshot) Feed() window.Order {
	if s.Ends() != query.NoEnds || s.Operation == ingest.Update {
		return ""
	}
	return s.Window.Order
}

// ReadsWhole reports whether the whole list is read every time, because nothing selects
// from it by date and its items have none to go by (snapshot).
func (s Snapshot) ReadsWhole() bool {
	return s.Operation == ingest.Harvest && s.Whole.On() && s.Ends() == query.NoEnds
}

// ReplacesWindow reports whether what was stored of a unit of the filter and does not come again
// with a whole reading of it is gone (response.replaces: WINDOW).
func (s Snapshot) ReplacesWindow() bool {
	return s.Operation != ingest.Update && s.Response.Replaces == extract.ReplacesWindow && s.Ends() == query.OneUnit
}

// UnitOf returns the unit of the filter that a request for a window names; empty where it names none.
func (p *Program) UnitOf(w window.Window) string {
	if p.ends != query.OneUnit || w.Empty() {
		return ""
	}
	return p.Filter.UnitName(w)
}

// CountsWindow reports whether the total of an answer is that of the window that was asked
// for. Where the request names less than a window, it is that of a longer list.
func (s Snapshot) CountsWindow() bool { return !s.OneSlice() }

// checkUnit refuses a window that the request would ask for a part of only: the rest of
// it would count as read and was never asked for (I2, D§5.26).
func (p *Program) checkUnit(w window.Window) error {
	if p.ends != query.OneUnit || p.Filter.WithinUnit(w) {
		return nil
	}
	return fmt.Errorf("the window %s is longer than one %s of the filter, and the request names only one (filter.bounds: UNIT): "+
		"the rest of it would not be asked for; ask for one %s at a time", w, p.Filter.Precision, p.Filter.Precision)
}
