package registry

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/slicing"
)

// checkAxis refuses a second axis whose stretches could not be asked for, or not be proven to
// be all of a window (D§5.12, I2).
func (r *Resolved) checkAxis() Problems {
	axis := r.Slicing.Second
	if axis == nil || r.hasNoWindow() || r.Operation == opUpdate || axis.Validate() != nil {
		return nil
	}
	var out Problems
	refuse := func(path Path, message, next string) {
		out = append(out, r.problemAt(path, "E-SLICING-SECOND: "+message, next))
	}
	at := Path{"slicing", "second"}
	if r.Filter.Ends == query.FromOnly || r.Filter.Ends == query.NoEnds {
		refuse(at, fmt.Sprintf("with filter.bounds %s a list is read from where it begins, and not in parts", r.Filter.Ends), "drop slicing.second")
		return out
	}
	if r.Paging.MaxResults == 0 {
		refuse(at, "it is for an upstream that serves only the first items of a query, and paging.maxResults does not say how many", "set paging.maxResults, or drop slicing.second")
	}
	if r.Response.Total.IsZero() || !r.Paging.Expects() {
		refuse(at, "whether the parts are all of a window is told by how many items the upstream counts", "declare response.total, and do not set paging.expectTotal to false")
	}
	if why := r.tryAxis(axis); why != "" {
		refuse(append(at, "field"), why, "declare the field under query.fields (NUMBER with whole: true, or DATE, with op RANGE; op IN for values) and a rule that writes it")
	}
	return out
}

// tryAxis renders what the first request of an axis would ask for; it returns why that cannot
// be, or asks for something else.
func (r *Resolved) tryAxis(axis *slicing.Axis) string {
	section, err := query.Prepare(r.Query)
	if err != nil {
		return "" // said by the section
	}
	program, err := section.Compile(r.Filter)
	if err != nil {
		return ""
	}
	if f, known := r.Query.Fields[axis.Field]; !known {
		return fmt.Sprintf("there is no query field %q", axis.Field)
	} else if f.Type == query.TypeNumber && !f.Whole {
		return fmt.Sprintf("field %q may have numbers between two whole ones, which no part would have", axis.Field)
	}
	first := slicing.AxisPart{From: axis.From, To: axis.To}
	if len(axis.Values) > 0 {
		first = slicing.AxisPart{From: axis.Values[0]}
	}
	_, findings := program.Render(axis.Condition(first))
	for _, f := range findings {
		if f.IsError() || f.Code == "W-RANGE-WIDENED" {
			return f.String()
		}
	}
	return ""
}
