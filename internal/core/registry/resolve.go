package registry

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/freshness"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/tmpl"
	"github.com/patra-ingest/patra/internal/core/twophase"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Settings are all sections, each filled with the platform's defaults, and the
// credential in use.
type Settings struct {
	HTTP      exchange.Config           `json:"http"`
	Request   exchange.RequestConfig    `json:"request"`
	Filter    query.DateFilter          `json:"filter"`
	Auth      exchange.Auth             `json:"auth"`
	Params    map[string]exchange.Param `json:"params,omitempty"`
	Query     query.Config              `json:"query"`
	Templates tmpl.Config               `json:"templates"`
	Details   twophase.Config           `json:"details,omitzero"`
	Paging    paging.Config             `json:"paging"`
	Window    window.Config             `json:"window"`
	Whole     generation.Config         `json:"snapshot,omitzero"`
	Files     files.Config              `json:"files,omitzero"`
	Slicing   slicing.Config            `json:"slicing"`
	Rate      gate.Limits               `json:"rate"`
	Retry     fault.RetryPolicy         `json:"retry"`
	Response  extract.Config            `json:"response"`
	Schedule  schedule.Config           `json:"schedule,omitzero"`
	Healing   health.Config             `json:"healing,omitzero"`
	Alerts    freshness.Config          `json:"alerts,omitzero"`
	Contact   Contact                   `json:"contact"`

	Partitions map[string]sector.Config `json:"partitions,omitempty"`

	Credential exchange.Credential `json:"credential,omitzero"` // the first entry of credentials that auth names; zero if none
	Further    []exchange.Further  `json:"further,omitempty"`   // the others
	Pool       []exchange.Member   `json:"pool,omitempty"`      // what the first chooses from, if it is a pool
}

// Resolved is what holds for one operation of one endpoint: every section
// merged and filled with the platform's defaults.
type Resolved struct {
	Source    string `json:"source"`
	Endpoint  string `json:"endpoint"`
	Role      string `json:"role"`
	Operation string `json:"operation"`

	Settings

	origin    *Source // whose other endpoints a check may look at
	overrides []Override
	merged    Merged
	places    Origins
	contact   filled     // see FillContact
	texts     []template // see templates
	zeros     []Path     // written zeros that mean nothing, see layZeros
}

var resolvedShape = sync.OnceValue(func() *shape { return shapeOf(reflect.TypeFor[Resolved](), nil) })

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
	layers := append(src.pickLayers(endpoint, operation), overrideLayer(overrides))
	r := &Resolved{
		Source: src.Code, Endpoint: endpoint, Role: found.Role, Operation: operation,
		origin: src, overrides: overrides, merged: Merge(layers...), places: src.places,
	}
	r.fillSections(r.merged.Sections())
	if r.StandsAlone() && r.Details.Endpoint == "" {
		r.Details = r.Details.Alone(endpoint)
	}
	r.layZeros()
	if set := r.Overridden("rate"); slices.Contains(set, "perSecond") && !slices.Contains(set, "perSecondWithKey") {
		r.Rate = r.Rate.WithoutKey() // whoever lowers the rate of a run means it with a key too
	}
	for i, name := range r.Auth.Names() {
		plain, optional := exchange.CutOptional(name)
		switch chosen, ok := src.Credentials[plain]; {
		case ok && i == 0:
			r.Credential = chosen.WithDefaults()
			r.Pool = src.membersOf(r.Credential)
		case ok:
			r.Further = append(r.Further, exchange.Further{Name: plain, Credential: chosen.WithDefaults(), Optional: optional})
		}
	}
	return r, nil
}

// membersOf lists the credentials that a pool chooses from. Names that lead nowhere are left out:
// checkPool tells of them.
func (s *Source) membersOf(pool exchange.Credential) (out []exchange.Member) {
	if pool.Type != "POOL" {
		return nil
	}
	for _, name := range pool.Members {
		if c, ok := s.Credentials[name]; ok {
			out = append(out, exchange.Member{Name: name, Credential: c.WithDefaults()})
		}
	}
	return out
}

// MemberNames lists the names of the pool that requests choose from; none without a pool.
func (s Settings) MemberNames() (out []string) {
	for _, m := range s.Pool {
		out = append(out, m.Name)
	}
	return out
}

// AllMembers returns the limits of all requests together: each member of a pool has the whole of them.
func (s Settings) AllMembers() gate.Limits { return s.Rate.Times(len(s.Pool)) }

// AllCredentials lists what requests carry, or may carry, the first one first.
func (s Settings) AllCredentials() (out []exchange.Credential) {
	for _, m := range s.Pool {
		out = append(out, m.Credential)
	}
	if s.Credential.Type != "" && len(s.Pool) == 0 {
		out = append(out, s.Credential)
	}
	for _, f := range s.Further {
		out = append(out, f.Credential)
	}
	return out
}

// Operations lists what a source can be planned for.
func Operations() []string {
	f, _ := sourceShape().fieldNamed("operations")
	return f.shape.enum
}

// pickLayers picks the leaves that apply, weakest first, with paths cut to their
// section. Within the level of operations those of the endpoint are stronger.
func (s *Source) pickLayers(endpoint, operation string) []Layer {
	layers := []Layer{{Level: LevelProvenance}, {Level: LevelEndpoint}, {Level: LevelSection}, {Level: LevelOperation}, {Level: LevelOperation}}
	sections, leaves := sectionsShape(), s.allLeaves()
	layers[LevelSection-LevelProvenance].Leaves = make([]Leaf, 0, len(leaves)) // nearly all are there
	for home, leaf := range leaves {
		prefix := leaf.Path.appliesTo(endpoint, operation)
		if prefix < 0 {
			continue
		}
		rest := leaf.Path[prefix:]
		if _, isSection := sections.fieldNamed(rest[0]); !isSection {
			continue
		}
		into := int(levelAt(leaf.Path[:prefix], rest[0]) - LevelProvenance)
		if prefix == ofEndpointAtOperation {
			into = len(layers) - 1
		}
		layers[into].Leaves = append(layers[into].Leaves, Leaf{Path: rest, Value: leaf.Value, At: leaf.At, home: home})
	}
	return layers
}

// How many keys lead to a section.
const (
	ofEndpoint            = 2 // endpoints.NAME
	ofOperation           = 2 // operations.OPERATION
	ofEndpointAtOperation = 4 // endpoints.NAME.operations.OPERATION
)

// appliesTo says how many keys lead to the section, or -1 if the value is not for
// this endpoint and operation.
func (p Path) appliesTo(endpoint, operation string) int {
	switch {
	case p[0] == "operations" && len(p) > ofOperation && p[1] == operation:
		return ofOperation
	case p[0] == "operations", p[0] == "endpoints" && (len(p) <= ofEndpoint || p[1] != endpoint):
		return -1
	case p[0] != "endpoints":
		return 0
	case p[2] != "operations":
		return ofEndpoint
	case len(p) > ofEndpointAtOperation && p[3] == operation:
		return ofEndpointAtOperation
	}
	return -1
}

// levelAt returns the level of a section below a prefix. What says how an endpoint is
// called lies in the endpoint's own row; everything else below it has a row of
// its own and is a section (D§5.18).
func levelAt(prefix Path, section string) Level {
	switch {
	case len(prefix) == 0:
		return LevelProvenance
	case prefix[0] == "operations" || len(prefix) > 2:
		return LevelOperation
	case section == "request" || section == "auth":
		return LevelEndpoint
	}
	return LevelSection
}

func (r *Resolved) fillSections(s Sections) {
	r.HTTP = valueOf(s.HTTP).WithDefaults()
	r.HTTP.BaseURL = exchange.CanonicalBaseURL(r.HTTP.BaseURL)
	r.Request = valueOf(s.Request)
	if r.Request.Method == "" {
		r.Request.Method = "GET"
	}
	r.Filter = valueOf(s.Filter).WithDefaults()
	r.Auth = valueOf(s.Auth).WithDefaults()
	r.Params = s.Params
	r.Query = valueOf(s.Query).WithDefaults()
	r.Templates = valueOf(s.Templates).WithDefaults()
	r.Details = valueOf(s.Details).WithDefaults()
	r.Paging = valueOf(s.Paging).WithDefaults()
	r.Window = valueOf(s.Window).WithDefaults()
	r.Window.Earliest = window.CanonicalText(r.Window.Earliest)
	r.fillBounds(valueOf(s.Filter).Ends, valueOf(s.Window).UpdatedSince)
	r.Whole = valueOf(s.Snapshot).WithDefaults()
	r.Files = valueOf(s.Files).WithDefaults()
	r.fillFiles()
	r.fillWhole()
	r.Slicing = valueOf(s.Slicing).WithDefaults()
	r.Rate = valueOf(s.Rate).WithDefaults()
	r.Retry = valueOf(s.Retry).WithDefaults()
	r.Response = valueOf(s.Response)
	if r.Response.Zone == "" {
		// Dates of the answer and of the filter are of one clock, or items near
		// midnight would seem to lie outside the window they were asked for.
		r.Response.Zone = r.Filter.Zone
	}
	r.Response = r.Response.WithDefaults()
	if r.Response.Replaces == extract.ReplacesWindow {
		r.Whole = r.Whole.ForWindows()
	}
	if r.Paging.ExpectTotal == nil && r.Paging.Type != "" && !r.Response.Total.IsZero() {
		// Whoever announces how many there are is held to it (D§5.26). Written out,
		// so that a snapshot of before, which says nothing, stays what it was (I10).
		expected := true
		r.Paging.ExpectTotal = &expected
	}
	r.Schedule = valueOf(s.Schedule).WithDefaults()
	r.Healing = valueOf(s.Healing).WithDefaults()
	r.Alerts = valueOf(s.Alerts)
	if r.Operation == "HARVEST" { // the one operation whose watermark follows the present
		r.Alerts = r.Alerts.Filled(r.Schedule, r.usualWindow())
	}
	r.Contact, r.Partitions = valueOf(s.Contact), s.Partitions
}

func valueOf[T any](p *T) T {
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
	Origin string // for people: the level and where it was written
	Level  string // for programs: the level alone
}

// Explain lists every value that is set, by path.
func (r *Resolved) Explain() []Explained {
	var out []Explained
	for _, l := range r.allValues().sortLeaves() {
		text := textOf(l.Value)
		if r.holdsSecret(l) {
			text = hidden
		}
		out = append(out, Explained{l.Path.String(), text, l.originText(), l.Level.String()})
	}
	return out
}

// Origin says where the value of a path came from, for example "section
// (crossref.yaml:14:9)", "override", "platform" or "not set".
func (r *Resolved) Origin(path string) string {
	if l, set := r.allValues()[path]; set {
		return l.originText()
	}
	return "not set"
}

// allValues returns every leaf of the sections after defaults, and the zeros that were
// written out. What was declared is shown as it holds, in its one spelling; what
// was not, and a default laid over a zero, came from the platform.
func (r *Resolved) allValues() leafSet {
	declared := r.merged.leaves
	if chosen := r.chosenCredential(); len(chosen) > 0 {
		declared = maps.Clone(declared)
		maps.Copy(declared, chosen)
	}
	known := sectionsShape()
	all := make(leafSet, 2*len(declared))
	flattenValue(resolvedShape(), reflect.ValueOf(r).Elem(), nil, all)
	for path, l := range all {
		said, ok := declared[path]
		_, isSection := known.fieldNamed(l.Path[0])
		switch {
		case !isSection && l.Path[0] != "credential":
			delete(all, path)
		case ok && (!isZero(said.Value) || reflect.DeepEqual(said.Value, l.Value)):
			said.Value = l.Value
			all[path] = said
		}
	}
	for path, l := range declared {
		if _, ok := all[path]; !ok {
			all[path] = l
		}
	}
	return all
}

// chosenCredential returns the credential in use, as if it were a section. Credentials
// stand at the top of a file only.
func (r *Resolved) chosenCredential() leafSet {
	out := leafSet{}
	names := r.Auth.Names()
	if len(names) == 0 {
		return out
	}
	prefix := Path{"credentials", names[0]}
	for _, l := range r.origin.allLeaves() {
		if len(l.Path) > len(prefix) && slices.Equal(l.Path[:len(prefix)], prefix) {
			l.Level, l.home = LevelProvenance, l.Path.String()
			l.Path = append(Path{"credential"}, l.Path[len(prefix):]...)
			out.addLeaf(l)
		}
	}
	return out
}
