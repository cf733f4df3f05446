package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// checkResponse looks at paths beyond their syntax, so that one that can never
// work fails when the file is loaded and not on a page.
func (r *Resolved) checkResponse() Problems {
	var out Problems
	c := r.Response
	for _, p := range []struct {
		key      string
		selector extract.Selector
	}{
		{"id", c.ID}, {"updatedAt", c.UpdatedAt}, {"filtered", c.Filtered}, {"version", c.Version},
		{"total", c.Total}, {"nextToken", c.NextToken}, {"nextUrl", c.NextURL}, {"hasMore", c.HasMore},
	} {
		if !p.selector.IsZero() && !p.selector.Singular() {
			out = append(out, r.problemAt(Path{"response", p.key}, fmt.Sprintf("E-PATH-SEVERAL: %s may select several values", p.selector), severalHint(p.key)))
		}
	}
	if filtered := strings.Contains(c.Items.String(), "[?"); filtered && r.endsByCount() {
		out = append(out, r.problemAt(Path{"response", "items"}, fmt.Sprintf("E-ITEMS-FILTER: %s leaves items out, and the end is found by counting them", c.Items),
			"take all items here and leave some out with response.where, which counts them, or page by TOKEN or URL without endOnShortPage"))
	}
	if r.Paging.Expects() && c.Total.IsZero() {
		out = append(out, r.problemAt(Path{"paging", "expectTotal"}, "E-TOTAL: needs response.total, the path of the announced number", "declare response.total, or drop expectTotal"))
	}
	for _, path := range c.Volatile {
		if _, err := document.NewCanonicalizer([]document.Path{path}); err != nil {
			out = append(out, r.problemAt(Path{"response", "volatile"}, codedError("E-PATH", err), ""))
		}
	}
	for _, name := range c.Required {
		if _, ok := c.Fields[name]; !ok {
			out = append(out, r.problemAt(Path{"response", "required"}, fmt.Sprintf("E-FIELD: %q is not one of response.fields", name), hintFor(name, sortedKeys(c.Fields), "fields")))
		}
	}
	for _, name := range sortedKeys(c.Allowed) {
		if _, ok := c.Fields[name]; !ok {
			out = append(out, r.problemAt(Path{"response", "allowed", name}, fmt.Sprintf("E-FIELD: %q is not one of response.fields", name), hintFor(name, sortedKeys(c.Fields), "fields")))
		}
	}
	out = append(out, r.checkMapping()...)
	out = append(out, r.checkParts()...)
	if len(out) > 0 || c.Items.IsZero() || c.ID.IsZero() {
		return out
	}
	if _, err := extract.Compile(c); err != nil {
		out = append(out, r.locateError(Path{"response"}, "E-RESPONSE", err))
	}
	return out
}

// severalHint says what to write instead of a path that may select several values.
func severalHint(key string) string {
	switch key {
	case "id", "updatedAt", "filtered", "version":
		return "write the way from the item to the one value, such as $.a.b or $.ids[0]; .., *, [0:2] and [?…] may select several. A template can choose: ${first(jsonPath('$.ids'))}"
	}
	return "write the way from the root to the one value, such as $.meta.next, $.links[0] or $.items[-1]; .., *, [0:2] and [?…] may select several"
}

// checkMapping holds templates of the response against the functions this
// source may use.
func (r *Resolved) checkMapping() Problems {
	var out Problems
	for _, l := range r.merged.list {
		if l.Path[0] != "response" {
			continue
		}
		for _, text := range templatesOf(l.Value) {
			if _, err := tmpl.CompileItemWith(text, r.Templates); err != nil {
				out = append(out, r.problemAt(l.Path, codedError("E-TEMPLATE", err), ""))
			}
		}
	}
	return out
}

func templatesOf(value any) []string {
	var all []extract.Selector
	switch v := value.(type) {
	case extract.Selector:
		all = []extract.Selector{v}
	case extract.Predicate:
		all = []extract.Selector{v.Selector}
	case []extract.Predicate:
		for _, p := range v {
			all = append(all, p.Selector)
		}
	}
	var out []string
	for _, s := range all {
		if s.IsTemplate() {
			out = append(out, s.String())
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
