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
	"github.com/patra-ingest/patra/internal/core/view"
)

// Bundled reads a source that comes with the program.
func Bundled(code string) (*registry.Source, error) {
	if !slices.Contains(catalog.List(), code) {
		return nil, fmt.Errorf("%w: source %q is neither applied nor bundled; bundled are %v", fault.ErrNotFound, code, catalog.List())
	}
	text, err := catalog.Read(code)
	if err != nil {
		return nil, err
	}
	src, _, err := registry.Decode(catalog.File(code), text)
	return src, err
}

// Source finds a source: as applied, else as bundled (D§5.18).
func (a *App) Source(ctx context.Context, code string) (src *registry.Source, applied bool, err error) {
	src, applied, err = a.Store.LoadSource(ctx, code)
	if applied || err != nil {
		return src, applied, err
	}
	src, err = Bundled(code)
	return src, false, err
}

// Sources lists all sources, applied and bundled.
func (a *App) Sources(ctx context.Context) ([]view.Source, error) {
	applied, err := a.Store.AppliedSources(ctx)
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
		v := view.Source{Code: code, Name: src.Name, Origin: "bundled", Endpoints: slices.Sorted(maps.Keys(src.Endpoints))}
		if isApplied {
			v.Origin, v.From = "applied", applied[code]
		}
		out = append(out, v)
	}
	return out, nil
}

// Compile freezes one operation of a source. An empty endpoint means the only one.
func Compile(src *registry.Source, endpoint string, op ingest.Operation, overrides []registry.Override) (*spec.Compiled, error) {
	if endpoint == "" {
		names := slices.Sorted(maps.Keys(src.Endpoints))
		if len(names) != 1 {
			return nil, fmt.Errorf("%w: source %s has several endpoints: name one of %v with --endpoint", fault.ErrInvalid, src.Code, names)
		}
		endpoint = names[0]
	}
	resolved, err := registry.Resolve(src, endpoint, string(op), overrides)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	return spec.Compile(resolved)
}
