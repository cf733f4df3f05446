package spec

import (
	"fmt"
	"maps"
	"slices"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/tmpl"
	"github.com/patra-ingest/patra/internal/core/window"
)

// NamesUnit reports whether a request names one unit of the filter, such as a day,
// instead of a window: the upstream does not select by date, and still a bound of
// the slice is sent. Then a slice must lie within one unit, or the rest of it
// would count as read and was never asked for (I2, D§5.26).
func (s Snapshot) NamesUnit() bool {
	since := s.Window.UpdatedSince == nil || *s.Window.UpdatedSince
	if since || s.Operation == ingest.Update || s.Filter.Field == "" {
		return false
	}
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
	for _, part := range []map[string]string{s.Request.Query, s.Request.Headers, s.Request.Form, s.HTTP.Headers} {
		out = slices.AppendSeq(out, maps.Values(part))
	}
	for _, p := range s.Params {
		out = append(out, p.Default)
	}
	return out
}

// checkUnit refuses a window that the request would ask for a part of only.
func (p *Program) checkUnit(w window.Window) error {
	if !p.unit || p.Filter.WithinUnit(w) {
		return nil
	}
	return fmt.Errorf("the window %s is longer than one %s of the filter, and the request names only one (window.updatedSince: false): "+
		"the rest of it would not be asked for; ask for one %s at a time, with slicing.step no longer than that", w, p.Filter.Precision, p.Filter.Precision)
}
