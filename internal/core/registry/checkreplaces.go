package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/sector"
)

// replacesWindow reports whether readings of an endpoint replace what was stored of their window, as the
// endpoint or the top of the file says.
func (s *Source) replacesWindow(endpoint string) bool {
	e := s.Endpoints[endpoint]
	if e.Response != nil && e.Response.Replaces != "" {
		return e.Response.Replaces == extract.ReplacesWindow
	}
	return s.Response != nil && s.Response.Replaces == extract.ReplacesWindow
}

// checkReplacedWindow refuses what would let a reading of a window say what it does not know: what is
// stored of the window must be told by it, and all of the window must be in the reading.
func (r *Resolved) checkReplacedWindow() (out Problems) {
	if r.Response.Replaces != extract.ReplacesWindow {
		return nil
	}
	refuse := func(path Path, code, message, hint string) {
		out = append(out, r.problemAt(path, code+": "+message, hint))
	}
	own := Path{"response", "replaces"}
	switch {
	case r.Role != roleSearch:
		refuse(own, "E-REPLACES", "WINDOW is for an endpoint that is searched by date, and this one is a "+r.Role, "leave it out")
		return out
	case r.Operation == opUpdate:
		refuse(own, "E-OPERATION", "records of a window (response.replaces: WINDOW) have no UPDATE: their ids begin with the window, and no upstream can be asked for such an id",
			"drop UPDATE from supports: a harvest with window.lookback reads windows again")
		return out
	case r.Filter.Ends != query.OneUnit:
		refuse(Path{"filter", "bounds"}, "E-REPLACES", "a reading replaces what was stored of the same window, and windows that are cut anew are never the same",
			"ask for one hour, day, month or year at a time: filter.bounds: UNIT; both ends of the unit may be sent")
		return out
	}
	entries := slices.Sorted(maps.Keys(r.Partitions))
	if begins := extract.ReplacedID(entries); !r.Response.IDBeginsWith(begins) {
		refuse(Path{"response", "id"}, "E-REPLACES", "an item of two windows or two partitions would be one record, and the one that lacks it would take it from the other",
			fmt.Sprintf("let the id begin with what is asked for: %s${jsonPath('$.id')}, or %s${hash()}", begins, begins))
	}
	for _, name := range entries {
		if why, hint := checkReplacedPart(r.Partitions[name]); why != "" {
			refuse(Path{"partitions", name}, "E-REPLACES", why, hint)
		}
	}
	for _, not := range []struct {
		given     bool
		at        Path
		why, hint string
	}{
		{r.Details.Enabled(), Path{"details"}, "details are asked for by id, and ids begin with the window", "leave response.replaces out where items have ids of their own"},
		{r.isGiven(Path{"slicing", "second"}), Path{"slicing", "second"}, "a window that is read in parts by a second axis is not one reading", "drop slicing.second"},
		{r.Paging.Type == paging.Time, Path{"paging", "type"}, "paging by TIME shows the newest items, and all of a window must come", "use ONE where one answer holds the whole window"},
		{r.isGiven(Path{"snapshot", "every"}), Path{"snapshot", "every"}, "snapshot.every is for a list that is read whole, and windows are read as window says", "drop snapshot.every; minShare, confirm and maxGone hold for each window"},
	} {
		if not.given {
			refuse(not.at, "E-REPLACES", not.why, not.hint)
		}
	}
	return out
}

// checkReplacedPart says why the parts of an entry cannot replace what was stored of them; empty if they can. A reading of a part is
// compared with the one before it, so a part must be the same part as long as it is asked for, and ids must tell parts apart.
func checkReplacedPart(c sector.Config) (why, hint string) {
	switch {
	case c.From != nil:
		return "the parts are stored records, which are read in runs, and a run is not one reading", "list the values"
	case c.PerRequest > 1:
		return "which values are asked for together changes with the list of values, so a reading has no reading before it", "drop perRequest: one value a request"
	case slices.ContainsFunc(c.Values, func(v string) bool { return strings.Contains(v, "/") }):
		return "a value with / in it makes ids that an item of another partition may have", "leave such values to another endpoint"
	}
	return "", ""
}
