package registry

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/document"
)

// reading checks the paths of the response beyond their syntax, so that a path
// that can never work fails when the file is loaded and not on a page.
func (r *Resolved) reading() Problems {
	var out Problems
	c := r.Response
	for _, p := range []struct {
		key  string
		path document.Path
	}{
		{"items", c.Items}, {"id", c.ID}, {"updatedAt", c.UpdatedAt}, {"filtered", c.Filtered},
		{"version", c.Version}, {"total", c.Total}, {"nextToken", c.NextToken}, {"hasMore", c.HasMore},
	} {
		if !p.path.IsZero() && !p.path.Singular() {
			out = append(out, r.at(Path{"response", p.key}, fmt.Sprintf("%s may select several values", p.path), "drop wildcards, slices and filters"))
		}
	}
	if r.Paging.ExpectTotal && c.Total.IsZero() {
		out = append(out, r.at(Path{"paging", "expectTotal"}, "needs response.total, the path of the announced number", "declare response.total, or drop expectTotal"))
	}
	for _, path := range c.Volatile {
		if _, err := document.NewCanonicalizer([]document.Path{path}); err != nil {
			out = append(out, r.at(Path{"response", "volatile"}, err.Error(), ""))
		}
	}
	for _, name := range c.Required {
		if _, ok := c.Fields[name]; !ok {
			out = append(out, r.at(Path{"response", "required"}, fmt.Sprintf("%q is not one of response.fields", name), ""))
		}
	}
	return out
}
