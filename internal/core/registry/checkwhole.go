package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/window"
)

// ReadAt is the date that the watermark of a list without dates follows: when the list was
// read.
const ReadAt = "read_at"

// ReadsWhole reports whether harvests of an endpoint read its list whole, as the endpoint or
// the top of the file says.
func (s *Source) ReadsWhole(endpoint string) bool {
	e := s.Endpoints[endpoint]
	return e.Role == roleSearch && !s.replacesWindow(endpoint) && (e.Snapshot != nil || s.Snapshot != nil) || e.Role == roleFile
}

// readsWhole reports whether the operation reads the list whole.
func (r *Resolved) readsWhole() bool {
	return r.Operation == opHarvest && (r.Role == roleSearch || r.Role == roleFile) && r.Whole.On() && r.Filter.Ends == query.NoEnds
}

// fillWhole gives a list that is read whole the window of its readings. It follows the
// instant of reading and no date of an item, so whatever is said of windows and of a date
// does not apply. A reading counts for snapshot.every: so long behind now the list may
// be known without anything being owed, which is what a safety lag says (D§5.26).
func (r *Resolved) fillWhole() {
	if !r.readsWhole() {
		return
	}
	every, none := r.Whole.Every, false
	r.Filter = query.DateFilter{Field: ReadAt, Ends: query.NoEnds}.WithDefaults()
	r.Window = window.Config{Size: every, SafetyLag: &every, MaxSafetyLag: &every, Namespace: r.Window.Namespace, UpdatedSince: &none, Ordered: r.Window.Ordered, Order: r.Window.Order}.WithDefaults()
}

// usualWindow returns the window that the threshold of a late watermark follows from.
func (r *Resolved) usualWindow() window.Config {
	w := r.Window
	if r.readsWhole() { // one reading that counts; no lag comes on top
		none := w.Lookback
		w.SafetyLag, w.MaxSafetyLag = &none, &none
	}
	return w
}

// checkWhole refuses what contradicts a list that is read whole.
func (r *Resolved) checkWhole() (out Problems) {
	if !r.isGiven(Path{"snapshot"}) || r.Operation == opUpdate || r.Response.Replaces == extract.ReplacesWindow {
		return nil
	}
	refuse := func(path Path, code, message, hint string) {
		out = append(out, r.problemAt(path, code+": "+message, hint))
	}
	switch {
	case r.Role == roleFile || r.Role == roleListing:
		refuse(Path{"snapshot"}, "E-SNAPSHOT", "files are looked for as files.every says, and a listing is read with them", "drop snapshot")
		return out
	case r.Role == roleDetail:
		refuse(Path{"snapshot"}, "E-SNAPSHOT", "a DETAIL endpoint is asked by id and has no list to read", "let snapshot stand below the endpoint that is searched")
		return out
	case r.Operation == opBackfill:
		refuse(Path{"snapshot"}, "E-OPERATION", "a list that is read whole (snapshot) has no BACKFILL: it tells what is there now, and its past cannot be asked for",
			"name what the endpoint serves: supports: [HARVEST, UPDATE]")
		return out
	case r.Filter.Ends != query.NoEnds:
		refuse(Path{"filter", "bounds"}, "E-SNAPSHOT", fmt.Sprintf("snapshot reads the whole list every time, but filter.bounds is %s", r.Filter.Ends),
			"say filter.bounds: NONE if the upstream takes no date; drop snapshot if it does: reading what changed is cheaper")
		return out
	}
	if !r.Whole.On() {
		refuse(Path{"snapshot", "every"}, "E-REQUIRED", "says how long a reading of the list counts, such as P1D", "where each request names one unit of the filter and a reading replaces the one before, say response.replaces: WINDOW")
	}
	if r.Window.Ordered {
		refuse(Path{"window", "ordered"}, "E-SNAPSHOT", "the list is sorted by date (window.order, window.ordered), so its new end is enough; snapshot reads all of it",
			"drop one of the two: window.order where the order can be relied on, snapshot where vanished records matter")
	}
	for _, l := range r.merged.list {
		own := strings.HasPrefix(l.home, "endpoints."+r.Endpoint+".")
		if own && l.Path[0] == "window" && !slices.Contains([]string{"namespace", "updatedSince", "ordered", "order"}, l.Path[1]) {
			refuse(l.Path, "E-SNAPSHOT", "window."+l.Path[1]+" is about dates of items, and a list that is read whole has none", "drop it: snapshot.every says how long a reading counts")
		}
	}
	if r.Paging.Type == paging.Time {
		refuse(Path{"paging", "type"}, "E-SNAPSHOT", "paging by TIME shows the newest items, and snapshot needs all of them", "use ONE where one answer holds the whole list")
	}
	if r.isGiven(Path{"slicing", "second"}) {
		refuse(Path{"slicing", "second"}, "E-SNAPSHOT", "a second axis cuts windows of time, and a list that is read whole has none", "drop slicing.second")
	}
	return out
}
