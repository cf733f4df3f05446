package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/spelling"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Bundled reads a source that comes with the program.
func Bundled(code string) (*registry.Source, error) {
	if !slices.Contains(catalog.List(), code) {
		return nil, unknownSource(code, nil)
	}
	text, err := catalog.Read(code)
	if err != nil {
		return nil, err
	}
	src, _, err := registry.Decode(catalog.File(code), text)
	return src, err
}

// unknownSource says that there is no such source, and which one was meant, of those that
// are applied or bundled.
func unknownSource(code string, applied []string) error {
	meant := ""
	if near := spelling.Nearest(code, append(catalog.List(), applied...)); near != "" {
		meant = fmt.Sprintf("did you mean %s? ", near)
	}
	return fmt.Errorf("%w: source %q is neither applied nor bundled: %s`patra source list` lists all of this database, `patra source apply FILE` adds one; bundled are %v", fault.ErrNotFound, code, meant, catalog.List())
}

// Source finds a source: as applied, else as bundled (D§5.18).
func (a *App) Source(ctx context.Context, code string) (src *registry.Source, applied bool, err error) {
	known, err := a.registry.findSource(ctx, a.store, code)
	return known.src, known.applied, err
}

// compileUntraced does what Compile does, for those who look at a source by the way.
func (a *App) compileUntraced(ctx context.Context, code, endpoint string, op ingest.Operation, overrides []registry.Override) (*spec.Compiled, error) {
	known, err := a.registry.findSource(ctx, a.store, code)
	if err != nil {
		return nil, err
	}
	c, err := known.compileOperation(endpoint, op, overrides)
	if err != nil {
		return nil, err
	}
	return a.findParent(ctx, known.src, c)
}

// Sources lists all sources, applied and bundled.
func (a *App) Sources(ctx context.Context) ([]view.Source, error) {
	ctx, err := a.registry.holdSources(ctx, a.store)
	if err != nil {
		return nil, err
	}
	applied, err := a.store.AppliedSources(ctx)
	if err != nil {
		return nil, err
	}
	ticks, err := a.NextTicks(ctx, "")
	if err != nil {
		return nil, err
	}
	pauses, err := a.store.Pauses(ctx, "")
	if err != nil {
		return nil, err
	}
	codes := slices.AppendSeq(catalog.List(), maps.Keys(applied))
	slices.Sort(codes)
	var out []view.Source
	for _, code := range slices.Compact(codes) {
		src, isApplied, err := a.Source(ctx, code)
		if err != nil {
			return nil, err
		}
		v := view.Source{Code: code, Name: src.Name, Origin: "bundled", Endpoints: slices.Sorted(maps.Keys(src.Endpoints)), Unverified: src.Unverified}
		if isApplied {
			v.Origin, v.From = "applied", applied[code]
		}
		for _, t := range ticks {
			if t.Source == code && (v.NextTick.IsZero() || t.At.Before(v.NextTick)) {
				v.NextTick = t.At
			}
		}
		v.Paused = slices.ContainsFunc(pauses, func(p ingest.Pause) bool { return p.Source == code })
		out = append(out, v)
	}
	return out, nil
}

// SourceCodes lists the sources that are applied or bundled, and those there are
// records of.
func (a *App) SourceCodes(ctx context.Context) ([]string, error) {
	applied, err := a.store.AppliedSources(ctx)
	if err != nil {
		return nil, err
	}
	harvested, err := a.store.HarvestedSources(ctx)
	if err != nil {
		return nil, err
	}
	codes := slices.AppendSeq(append(catalog.List(), harvested...), maps.Keys(applied))
	slices.Sort(codes)
	return slices.Compact(codes), nil
}

// Compile freezes one operation of a source. An empty endpoint means the only
// one that serves it.
func Compile(src *registry.Source, endpoint string, op ingest.Operation, overrides []registry.Override) (*spec.Compiled, error) {
	return Installed{}.Compile(src, endpoint, op, overrides)
}

// Compile is the package's, for a source that runs on this installation.
func (in Installed) Compile(src *registry.Source, endpoint string, op ingest.Operation, overrides []registry.Override) (*spec.Compiled, error) {
	resolved, err := Resolve(src, endpoint, op, overrides)
	if err != nil {
		return nil, err
	}
	in.FillSettings(resolved)
	c, err := spec.Compile(resolved)
	if err != nil || len(overrides) == 0 {
		return c, err
	}
	own, err := in.Compile(src, endpoint, op, nil)
	c.Foreign = err != nil || !sameQuestion(c, own)
	return c, nil
}

// Resolve merges what a source says for an operation, and refuses overrides
// that would make a run less polite than its source.
func Resolve(src *registry.Source, endpoint string, op ingest.Operation, overrides []registry.Override) (*registry.Resolved, error) {
	if endpoint == "" {
		serving := startingEndpoints(src, op)
		if len(serving) == 0 && op == ingest.Backfill {
			for _, name := range slices.Sorted(maps.Keys(src.Endpoints)) {
				if src.ReadsWhole(name) {
					return nil, refuseWhole(src.Code, name)
				}
			}
		}
		if len(serving) == 0 && op != ingest.Update && len(startingEndpoints(src, ingest.Update)) > 0 && !searches(src) {
			return nil, refuseUnlisted(src, op)
		}
		if len(serving) != 1 {
			return nil, fmt.Errorf("%w: source %s has %d endpoints that serve %s: name one of %v with --endpoint",
				fault.ErrInvalid, src.Code, len(serving), op, slices.Sorted(maps.Keys(src.Endpoints)))
		}
		endpoint = serving[0]
	}
	declared, err := registry.Resolve(src, endpoint, string(op), nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	if op == ingest.Backfill && src.ReadsWhole(endpoint) {
		return nil, refuseWhole(src.Code, endpoint)
	}
	if op != ingest.Update && src.StandsAlone(endpoint) {
		return nil, refuseUnlisted(src, op)
	}
	if !slices.Contains(src.Operates(endpoint), string(op)) {
		return nil, fmt.Errorf("%w: E-OPERATION: endpoint %s of source %s serves %v, not %s",
			fault.ErrInvalid, endpoint, src.Code, src.Operates(endpoint), op)
	}
	if len(overrides) == 0 {
		return declared, nil
	}
	resolved, err := registry.Resolve(src, endpoint, string(op), overrides)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	if err := resolved.Raised(declared).Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	return resolved, nil
}

// refuseWhole says why a list that is read whole has no backfill.
func refuseWhole(source, endpoint string) error {
	return fmt.Errorf("%w: E-OPERATION: endpoint %s of source %s is a list without dates that is read whole (snapshot): it tells what is there now, and its past cannot be asked for; read it with: patra harvest %s --endpoint %s",
		fault.ErrInvalid, endpoint, source, source, endpoint)
}

// refuseUnlisted says why a source that is only asked by id has nothing to read by time.
func refuseUnlisted(src *registry.Source, op ingest.Operation) error {
	return fmt.Errorf("%w: E-OPERATION: source %s is asked by id and has no list, so there is nothing that %s could read; name the records: patra update %s --ids FILE --reason …, or patra signal add %s ID",
		fault.ErrInvalid, src.Code, op, src.Code, src.Code)
}

// searches reports whether a source has an endpoint that is searched.
func searches(src *registry.Source) bool {
	for _, e := range src.Endpoints {
		if e.IsDataset() {
			return true
		}
	}
	return false
}

// AsksByIDOnly reports whether a bundled source is only asked by id: an update that names ids is
// then the first that is ever done with it.
func AsksByIDOnly(code string) bool {
	src, err := Bundled(code)
	return err == nil && !searches(src)
}

// startingEndpoints lists the endpoints an operation may start at: those that are searched, and
// those that are only asked by id. Other details are reached through their searches, and files that
// a list is loaded from first (window.bootstrap) through that list.
func startingEndpoints(src *registry.Source, op ingest.Operation) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(src.Endpoints)) {
		if e := src.Endpoints[name]; (e.IsDataset() || src.StandsAlone(name)) && slices.Contains(src.Operates(name), string(op)) && !src.LoadsFirst(name) {
			out = append(out, name)
		}
	}
	return out
}
