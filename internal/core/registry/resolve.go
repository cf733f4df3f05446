package registry

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Resolved is what holds for one operation of one endpoint: every section
// merged and filled with the platform's defaults.
type Resolved struct {
	Source    string `json:"source"`
	Endpoint  string `json:"endpoint"`
	Role      string `json:"role"`
	Operation string `json:"operation"`

	HTTP     exchange.Config        `json:"http"`
	Request  exchange.RequestConfig `json:"request"`
	Filter   query.DateFilter       `json:"filter"`
	Paging   paging.Config          `json:"paging"`
	Window   window.Config          `json:"window"`
	Slicing  slicing.Config         `json:"slicing"`
	Rate     gate.Limits            `json:"rate"`
	Retry    fault.RetryPolicy      `json:"retry"`
	Response extract.Config         `json:"response"`
	Contact  Contact                `json:"contact"`

	merged Merged
	places Origins
}

// Resolve merges what src says for an operation of an endpoint (D§5.18).
func Resolve(src *Source, endpoint, operation string, overrides []Override) (*Resolved, error) {
	found, ok := src.Endpoints[endpoint]
	if !ok {
		names := slices.Sorted(maps.Keys(src.Endpoints))
		return nil, fmt.Errorf("source %s has no endpoint %q (%s)", src.Code, endpoint, hintFor(endpoint, names, "endpoints"))
	}
	if known := Operations(); !slices.Contains(known, operation) {
		return nil, fmt.Errorf("unknown operation %q (%s)", operation, hintFor(operation, known, "operations"))
	}
	layers := append(src.layers(endpoint, operation), overrideLayer(overrides))
	r := &Resolved{
		Source: src.Code, Endpoint: endpoint, Role: found.Role, Operation: operation,
		merged: Merge(layers...), places: src.places,
	}
	r.fill(r.merged.Sections())
	return r, nil
}

// Operations lists what a source can be planned for.
func Operations() []string {
	f, _ := shapeOf(reflect.TypeFor[Endpoint](), nil).field("operations")
	return f.shape.enum
}

// layers picks the leaves that apply, with paths cut to their section.
func (s *Source) layers(endpoint, operation string) []Layer {
	levels := []struct {
		level  Level
		prefix Path
	}{
		{LevelProvenance, nil},
		{LevelEndpoint, Path{"endpoints", endpoint}},
		{LevelOperation, Path{"endpoints", endpoint, "operations", operation}},
	}
	sections := sectionsShape()
	var out []Layer
	leaves := s.leaves().sorted()
	for _, l := range levels {
		layer := Layer{Level: l.level}
		for _, leaf := range leaves {
			if len(leaf.Path) <= len(l.prefix) || !slices.Equal(leaf.Path[:len(l.prefix)], l.prefix) {
				continue
			}
			rest := leaf.Path[len(l.prefix):]
			if _, isSection := sections.field(rest[0]); isSection {
				layer.Leaves = append(layer.Leaves, Leaf{Path: rest, Value: leaf.Value, At: leaf.At, home: leaf.Path.String()})
			}
		}
		out = append(out, layer)
	}
	return out
}

func (r *Resolved) fill(s Sections) {
	r.HTTP = deref(s.HTTP).WithDefaults()
	r.Request = deref(s.Request)
	if r.Request.Method == "" {
		r.Request.Method = "GET"
	}
	r.Filter = deref(s.Filter).WithDefaults()
	r.Paging = deref(s.Paging).WithDefaults()
	r.Window = deref(s.Window).WithDefaults()
	r.Slicing = deref(s.Slicing).WithDefaults()
	r.Rate = deref(s.Rate).WithDefaults()
	r.Retry = deref(s.Retry).WithDefaults()
	r.Response = deref(s.Response).WithDefaults()
	r.Contact = deref(s.Contact)
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// Explained is one value of a resolved endpoint and where it came from.
type Explained struct {
	Path   string
	Value  string
	Origin string
}

// Explain lists every value that is set, by path.
func (r *Resolved) Explain() []Explained {
	var out []Explained
	for _, l := range r.values().sorted() {
		out = append(out, Explained{l.Path.String(), textOf(l.Value), l.origin()})
	}
	return out
}

// Origin says where the value of a path came from, for example "endpoint
// (crossref.yaml:14:9)", "override", "platform default" or "not set".
func (r *Resolved) Origin(path string) string {
	if l, set := r.values()[path]; set {
		return l.origin()
	}
	return "not set"
}

// values is every leaf of the sections after defaults, and the zeros that were
// written out. A value that is not the declared one came from the platform.
func (r *Resolved) values() leafSet {
	sections := sectionsShape()
	all := leafSet{}
	flatten(shapeOf(reflect.TypeFor[Resolved](), nil), reflect.ValueOf(r).Elem(), nil, all)
	for path, l := range all {
		declared, ok := r.merged.leaves[path]
		_, isSection := sections.field(l.Path[0])
		switch {
		case !isSection:
			delete(all, path)
		case ok && reflect.DeepEqual(declared.Value, l.Value):
			all[path] = declared
		}
	}
	for path, l := range r.merged.leaves {
		if _, ok := all[path]; !ok {
			all[path] = l
		}
	}
	return all
}
