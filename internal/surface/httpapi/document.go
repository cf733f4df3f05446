package httpapi

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"sort"

	"github.com/danielgtaylor/huma/v2"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Document tells every route for people, in the order of their topics: what /openapi.json
// says, without its shapes of answers.
func (h *Handler) Document() (out []view.RouteDoc) {
	shapes := h.Description.Components.Schemas
	for path, item := range h.Description.Paths {
		for method, o := range map[string]*huma.Operation{http.MethodGet: item.Get, http.MethodPost: item.Post} {
			if o == nil {
				continue
			}
			role, _ := o.Extensions["x-role"].(string)
			doc := view.RouteDoc{Method: method, Path: path, Topic: o.Tags[0], Says: o.Summary, Role: access.Role(role)}
			for _, p := range o.Parameters {
				doc.Fields = append(doc.Fields, fieldOf(p.Name, p.In, p.Required, p.Description, p.Schema))
			}
			if o.RequestBody != nil {
				doc.Fields = append(doc.Fields, bodyFields(shapes, o.RequestBody)...)
			}
			out = append(out, doc)
		}
	}
	sort.Slice(out, func(i, j int) bool { // without code for this type of row
		a, b := out[i], out[j]
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method)) < 0
	})
	return out
}

func bodyFields(shapes huma.Registry, body *huma.RequestBody) (out []view.RouteField) {
	s := body.Content["application/json"].Schema
	if s.Ref != "" {
		s = shapes.SchemaFromRef(s.Ref)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if name != "$schema" {
			out = append(out, fieldOf(name, "body", slices.Contains(s.Required, name), s.Properties[name].Description, s.Properties[name]))
		}
	}
	return out
}

func fieldOf(name, in string, required bool, says string, s *huma.Schema) view.RouteField {
	f := view.RouteField{Name: name, In: in, Required: required, Says: says}
	if s != nil {
		f.Type = cmp.Or(s.Format, s.Type)
		for _, one := range s.Enum {
			if text, ok := one.(string); ok {
				f.OneOf = append(f.OneOf, text)
			}
		}
		if f.Says == "" {
			f.Says = s.Description
		}
	}
	return f
}
