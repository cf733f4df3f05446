package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// SourceVersions lists the versions of a source, newest first, also those to come. A
// bundled source that was never applied has none.
func (i *Inspector) SourceVersions(ctx context.Context, code string) ([]view.SourceVersion, error) {
	stored, err := i.from.Versions.SourceHistory(ctx, code)
	if err != nil {
		return nil, err
	}
	if len(stored) == 0 {
		_, _, err := i.from.Sources.Source(ctx, code)
		return []view.SourceVersion{}, err
	}
	now, err := i.from.Clock.Now(ctx)
	if err != nil {
		return nil, err
	}
	out := []view.SourceVersion{}
	for _, v := range slices.Backward(stored) {
		out = append(out, view.SourceVersion{
			State: view.VersionStateOf(v, now), From: v.From, To: v.To, AppliedAt: v.AppliedAt, Actor: v.Actor, Reason: v.Reason,
			Fingerprint: v.Fingerprint, Rows: v.Rows, Tables: append([]string{}, v.Tables...), Paths: append([]string{}, v.Paths...),
		})
	}
	return out, nil
}

// mostChanges is how many versions are looked at to find the one that somebody had read.
const mostChanges = 20

// ChangesSince lists the versions that came after the one with a fingerprint, newest first:
// what others changed since a file was read. Versions that never began or are to come are
// left out. Where the version is not found, the newest one is all that is told.
func (i *Inspector) ChangesSince(ctx context.Context, code, fingerprint string) (out []view.SourceVersion, err error) {
	all, err := i.SourceVersions(ctx, code)
	if err != nil {
		return nil, err
	}
	begun := slices.DeleteFunc(all, func(v view.SourceVersion) bool {
		return v.State != view.VersionInForce && v.State != view.VersionEnded
	})
	for _, v := range begun[:min(len(begun), mostChanges)] {
		src, found, err := i.from.Versions.LoadSourceAt(ctx, code, v.From)
		if err != nil {
			return nil, err
		}
		if found && src.Fingerprint() == fingerprint {
			return out, nil
		}
		out = append(out, v)
	}
	return out[:min(len(out), 1)], nil
}

// SourceFile writes a source as a file: as applied, else as bundled; with an instant the
// version that was, is or will be in force then.
func (i *Inspector) SourceFile(ctx context.Context, code string, at *time.Time) (out view.SourceFile, err error) {
	if at == nil {
		src, applied, err := i.from.Sources.Source(ctx, code)
		if err != nil {
			return out, err
		}
		origin := view.OriginBundled
		if applied {
			origin = view.OriginApplied
		}
		return NewSourceFile(src, origin, nil), nil
	}
	src, found, err := i.from.Versions.LoadSourceAt(ctx, code, *at)
	if err == nil && !found {
		err = NoVersionAt(code, *at)
	}
	if err != nil {
		return out, err
	}
	return NewSourceFile(src, view.OriginApplied, at), nil
}

// NoVersionAt says that a source had no applied version at an instant.
func NoVersionAt(code string, at time.Time) error {
	return fmt.Errorf("source %s had no applied version at %s: %w: `patra source history %s` lists what there is", code, window.Text(at), fault.ErrNotFound, code)
}

// NewSourceFile writes a definition as a file, without what is private. Its fingerprint
// is that of all it says.
func NewSourceFile(src *registry.Source, origin string, at *time.Time) view.SourceFile {
	return view.SourceFile{Source: src.Code, Origin: origin, At: at, YAML: string(registry.Export(src.Shown())), Fingerprint: src.Fingerprint()}
}

// NewSettings lists every setting that holds for one operation of one endpoint, and where
// it came from.
func NewSettings(src *registry.Source, origin string, r *registry.Resolved, compiled *spec.Compiled) (view.SourceSettings, error) {
	prototype, err := compiled.Prototype.Hash()
	c := view.SourceSettings{
		Source: r.Source, Name: src.Name, Origin: origin, Endpoint: r.Endpoint, Operation: r.Operation,
		Fingerprint: compiled.Fingerprint, Expression: compiled.Prototype.Where.String(), Selection: compiled.Prototype.Selection,
		Prototype: prototype, MappingHash: compiled.MappingHash, Warnings: append([]spec.Warning{}, compiled.Warnings...),
	}
	for _, x := range r.Explain() {
		place := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(x.Origin, x.Level), " ("), ")")
		c.Settings = append(c.Settings, view.Setting{Path: x.Path, Value: x.Value, From: x.Level, At: place, Origin: x.Origin})
	}
	return c, err
}
