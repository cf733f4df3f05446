package spec

import (
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Warning is something a source cannot do, and what is done instead (§3.6,
// §12.4). It goes into the remarks of every plan.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (w Warning) String() string { return w.Code + ": " + w.Message }

func (s Snapshot) listDegradations() []Warning {
	var out []Warning
	warn := func(when bool, code, message string) {
		if when {
			out = append(out, Warning{code, message})
		}
	}
	byDate := s.Operation != ingest.Update && !s.Lists && !s.ReadsFiles()
	counted := s.Paging.Type == paging.Offset || s.Paging.Type == paging.Page
	warn(s.Response.Total.IsZero() && s.Paging.Type != "" && !s.ReadsFiles(), "W-NO-TOTAL", "the upstream announces no total: sizes are estimated, and a short delivery cannot be noticed")
	warn(!s.Response.Total.IsZero() && s.Paging.ExpectTotal != nil && !*s.Paging.ExpectTotal, "W-TOTAL-ESTIMATE",
		"the announced total is an estimate (paging.expectTotal: false): a short delivery fails no slice, but `patra status` tells of it")
	warn(counted && s.Response.HasMore.IsZero() && s.Response.Total.IsZero(), "W-NO-HAS-MORE",
		"nothing says whether more pages follow: a page shorter than paging.size is taken for the last")
	whole := s.ReadsWhole()
	warn(whole && !s.ReadsFiles(), "W-WHOLE-LIST", fmt.Sprintf("the upstream does not select by date: every harvest reads the whole list, and a reading counts for %s (snapshot.every)", s.Whole.Every))
	since := "the upstream does not select by date of change: the whole list is read and filtered here, in one slice"
	switch s.Window.Order {
	case window.Descending:
		since = "the upstream does not select by date of change: the list is read from its newest item until its dates have passed the window, or to its end where its order does not hold, in one slice"
	case window.Ascending:
		since = "the upstream does not select by date of change: the list is read from its oldest item until its dates have passed the window, or to its end where its order does not hold, in one slice"
	}
	warn(byDate && !whole && s.Ends() == query.NoEnds, "W-NO-UPDATED-SINCE", since)
	warn(byDate && s.Ends() == query.FromOnly, "W-FROM-ONLY", "the upstream takes no upper bound: one slice reads everything from the oldest instant that is owed, and slicing.step does not cut it")
	warn(byDate && s.Ends() == query.OneUnit, "W-ONE-UNIT", fmt.Sprintf("the upstream is asked for one %s at a time: every slice is one, and one that holds too much cannot be cut", s.Filter.Precision))
	warn(byDate && !whole && s.Response.Filtered.IsZero(), "W-NO-FILTERED", "items outside of what was asked for cannot be told apart: a filter that does not fit their dates stays unnoticed")
	undated := "items carry no date of change: the copy fetched last wins"
	if byDate && !whole {
		undated += ", and a change that does not move " + s.Filter.Field + " is seen by UPDATE only"
	}
	warn(s.Reading().UpdatedAt.IsZero() && !s.Lists, "W-NO-UPDATED-AT", undated)
	warn(counted && !*s.Paging.Stable, "W-UNSTABLE-ORDER", "the order may change while pages are read: a slice counts only after two equal passes")
	warn(len(s.Auth.Names()) > 0 && !*s.Auth.Required, "W-ANONYMOUS", "the credential is optional: without its secret requests are anonymous")
	warn(byDate && s.Reading().FillOnly, "W-FILL-ONLY", "records that are stored only get what they lack: values that changed upstream are not taken")
	warn(len(s.Request.NotSecret) > 0, "W-NOT-SECRET", "the source says that these hold no secret, so their values stand in its file: "+strings.Join(s.Request.NotSecret, ", "))
	warn(s.Request.BodyWithGet, "W-BODY-WITH-GET", "the source sends a body with GET (request.bodyWithGet): whatever lies between may drop it, and the upstream would then answer another question")
	warn(s.Window.Namespace == "GLOBAL", "W-GLOBAL-WATERMARK", "one watermark for every expression: a changed query does not show as a gap")
	if _, from := sector.Parent(s.Partitions); s.AsksChanged() {
		warn(true, "W-CHANGED-PARENTS", fmt.Sprintf("of the records of %s only those that changed are asked for, because the upstream promises that they change with what lies below them: what it does not announce in this way is found within %s (from.sweep)", from.Endpoint, from.Cycle()))
	}
	if w, long := s.warnOfLongWalks(); long {
		out = append(out, w)
	}
	return out
}
