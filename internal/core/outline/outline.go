// Package outline is what a look at a source needs of its definition: which watermarks it
// moves, by what it wants to be judged, when it starts by itself, and what it wants of this
// machine. All of that follows from the definition alone. It is small, so it can be kept
// beside a version of the source, and whoever looks at twenty sources need not read and
// compile twenty definitions.
//
// It must never hold what a run needs: runs compile.
package outline

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/freshness"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Source is the outline of a source.
type Source struct {
	Endpoints []Endpoint `json:"endpoints"`      // that can be harvested, in the order of their names
	ByID      bool       `json:"byId,omitempty"` // there are none, because it is only asked by id
	Jobs      []Job      `json:"jobs,omitempty"`
	Uses      []Use      `json:"uses,omitempty"` // of all operations, sorted
}

// Endpoint is what the harvest of an endpoint asks for, and by what it is judged.
type Endpoint struct {
	Name      string           `json:"name"`
	Field     string           `json:"field,omitempty"`
	Precision query.Precision  `json:"precision,omitempty"`
	Window    window.Config    `json:"window"`
	At        ingest.Namespace `json:"at"`
	Question  string           `json:"question"` // the hash of its prototype
	Alerts    freshness.Config `json:"alerts"`
}

// Job is an operation that is scheduled.
type Job struct {
	Endpoint  string           `json:"endpoint"`
	Operation ingest.Operation `json:"operation"`
	Schedule  schedule.Config  `json:"schedule"`
}

// Use is what a source wants of this machine. An optional one is not wanted where it is not
// there.
type Use struct {
	trust.Use
	Optional bool `json:"optional,omitempty"`
}

// Definition is a source with who compiles and merges it. Whoever has done so before need not
// do it again.
type Definition struct {
	*registry.Source
	Compile func(endpoint string, op ingest.Operation) (*spec.Compiled, error)
	Resolve func(endpoint string, op ingest.Operation) (*registry.Resolved, error)
}

// Of makes the outline of a source, with an error if its harvests cannot be compiled. What is
// wrong with other operations is told where they are used.
func Of(d Definition) (out Source, err error) {
	if out.Endpoints, err = Endpoints(d); err != nil {
		return Source{}, err
	}
	out.ByID = len(out.Endpoints) == 0
	out.Jobs, _ = Jobs(d)
	out.Uses = Uses(d)
	return out, nil
}

// Endpoints lists the endpoints that can be harvested. Beside an error it lists those before
// the one that cannot be compiled.
func Endpoints(d Definition) (out []Endpoint, err error) {
	for _, name := range slices.Sorted(maps.Keys(d.Endpoints)) {
		if !d.Endpoints[name].IsDataset() || !slices.Contains(d.Operates(name), string(ingest.Harvest)) {
			continue
		}
		compiled, err := d.Compile(name, ingest.Harvest)
		if err != nil {
			return out, err
		}
		one, err := EndpointOf(compiled)
		if err != nil {
			return out, err
		}
		out = append(out, one)
	}
	if len(out) == 0 && !asksByIDOnly(d.Source) {
		return nil, fmt.Errorf("source %s has no endpoint that can be harvested: %w", d.Code, fault.ErrNotFound)
	}
	return out, nil
}

// asksByIDOnly reports whether a source has nothing to harvest because it is asked by id: that is
// how it is meant.
func asksByIDOnly(src *registry.Source) bool {
	for name := range src.Endpoints {
		if src.StandsAlone(name) {
			return true
		}
	}
	return false
}

// EndpointOf makes the outline of a compiled harvest.
func EndpointOf(c *spec.Compiled) (out Endpoint, err error) {
	s := c.Snapshot
	out = Endpoint{Name: s.Endpoint, Field: s.Filter.Field, Precision: s.Filter.Precision, Window: s.Window, Alerts: c.Alerts}
	if out.At, err = c.Namespace(); err != nil {
		return out, err
	}
	out.Question, err = c.Prototype.Hash()
	return out, err
}

// Jobs lists what a source schedules, and what of it cannot be followed.
func Jobs(d Definition) (out []Job, err error) {
	for _, endpoint := range slices.Sorted(maps.Keys(d.Endpoints)) {
		for _, operation := range d.Operates(endpoint) {
			if !schedulesItself(d.Source, endpoint, operation) {
				continue
			}
			r, wrong := d.Resolve(endpoint, ingest.Operation(operation))
			if wrong != nil {
				err = errors.Join(err, wrong)
				continue
			}
			if r.Schedule.On() {
				out = append(out, Job{endpoint, ingest.Operation(operation), r.Schedule})
			}
		}
	}
	return out, err
}

// schedulesItself reports whether an operation is scheduled. A schedule above the
// operations means the harvest of endpoints that are searched. Repeated backfills and
// updates start only where the source file says so.
func schedulesItself(src *registry.Source, endpoint, operation string) bool {
	e, isHarvest := src.Endpoints[endpoint], operation == string(ingest.Harvest)
	own := e.Operations[operation].Schedule != nil || isHarvest && e.Schedule != nil
	wide := src.Operations[operation].Schedule != nil || isHarvest && src.Schedule != nil
	return own || wide && e.IsDataset()
}

// Uses lists what the operations of a source want of this machine. Those that cannot be
// compiled want nothing: they do not run.
func Uses(d Definition) (out []Use) {
	if !wantsSecrets(d.Source) && len(d.ForeignParents()) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.Endpoints)) {
		for _, op := range d.Operates(name) {
			compiled, err := d.Compile(name, ingest.Operation(op))
			if err != nil {
				continue
			}
			s := compiled.Snapshot
			for _, u := range trust.Of(s) {
				optional := mayLack(s, u.Ref.Secret())
				if one := (Use{u, optional}); !slices.Contains(out, one) {
					out = append(out, one)
				}
			}
		}
	}
	return out
}

// mayLack reports whether requests are sent without a secret that is absent.
func mayLack(s spec.Snapshot, ref secret.Ref) bool {
	for _, f := range s.Further {
		if f.Optional && slices.Contains(f.Credential.References(), ref) {
			return true
		}
	}
	anonymous := s.Auth.Required != nil && !*s.Auth.Required
	return anonymous && slices.ContainsFunc(s.AllCredentials(), func(c exchange.Credential) bool { return slices.Contains(c.References(), ref) })
}

// wantsSecrets reports whether anything in a source may name a secret of this machine: it has
// a credential or a proxy. Most have none, and need not be compiled to know that.
func wantsSecrets(src *registry.Source) bool {
	proxied := func(s registry.Sections) bool { return s.HTTP != nil && !s.HTTP.Proxy.IsZero() }
	anyProxied := func(s map[string]registry.Sections) bool {
		for _, one := range s {
			if proxied(one) {
				return true
			}
		}
		return false
	}
	if len(src.Credentials) > 0 || proxied(src.Sections) || anyProxied(src.Operations) {
		return true
	}
	for _, e := range src.Endpoints {
		if proxied(e.Sections) || anyProxied(e.Operations) {
			return true
		}
	}
	return false
}
