package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// ReadSource reads the text of a source file and finds what is wrong with it. It reads no other file.
func ReadSource(name string, text []byte) (view.CheckedFile, registry.Problems) {
	return readSource(name, text, nil)
}

// readSource reads the text of a source file, and the files of values that it names, if somebody may read them.
func readSource(name string, text []byte, read registry.ReadList) (f view.CheckedFile, problems registry.Problems) {
	f.File = name
	src, _, err := registry.Decode(name, text)
	if err == nil && read != nil {
		src, f.Lists, problems = src.FillValues(read)
		err = problems.Err()
	}
	switch {
	case err == nil:
		f.Parsed, f.Source, f.Endpoints = src, src.Code, len(src.Endpoints)
		problems = append(src.Validate(), src.GroupsLikeSources(catalog.List())...)
	case !errors.As(err, &problems):
		problems = registry.Problems{{File: name, Message: err.Error()}}
	}
	return f, problems
}

// NoteProblems tells programs what is wrong with a file, or what it cannot do if nothing
// is wrong with it.
func NoteProblems(f *view.CheckedFile, problems registry.Problems) {
	f.Problems, f.Warnings = []view.FileProblem{}, []view.FileWarning{}
	for _, p := range problems {
		f.Problems = append(f.Problems, view.NewFileProblem(p))
	}
	if len(problems) == 0 && f.Parsed != nil {
		f.Warnings = warningsOf(f.Parsed, f.Lists)
	}
}

// warningsOf compiles every operation of every endpoint, as runs would.
// What is wrong with a file is said elsewhere.
func warningsOf(src *registry.Source, lists registry.Lists) []view.FileWarning {
	out, wants := []view.FileWarning{}, TrustWarner()
	for _, endpoint := range slices.Sorted(maps.Keys(src.Endpoints)) {
		first := len(out)
		for _, op := range src.Operates(endpoint) {
			compiled, err := Compile(src, endpoint, ingest.Operation(op), nil)
			if err != nil {
				continue
			}
			for _, w := range slices.Concat(compiled.Warnings, wants(compiled.Snapshot), listWarnings(lists, endpoint, op)) {
				at := slices.IndexFunc(out[first:], func(o view.FileWarning) bool { return o.Warning == w })
				if at < 0 {
					out = append(out, view.FileWarning{Endpoint: endpoint, Warning: w})
					at = len(out) - 1 - first
				}
				out[first+at].Operations = append(out[first+at].Operations, op)
			}
		}
	}
	return out
}

// listWarnings names the files that values of an operation were read from: what changes in them later counts when the
// source is applied again.
func listWarnings(lists registry.Lists, endpoint, op string) (out []spec.Warning) {
	for _, l := range lists.Reaching(endpoint, op) {
		out = append(out, spec.Warning{Code: "W-VALUES-FILE", Message: fmt.Sprintf("asks for %s that the file %s lists now; apply the source again when that file changes", wording.Count(l.Values, "value"), l.File)})
	}
	return out
}

// DiffSource tells what a file would change against what a run would use now: the
// applied version, else the bundled one. Without an app nothing is applied.
func DiffSource(ctx context.Context, a *App, f view.CheckedFile) (view.SourceDifference, error) {
	d := view.SourceDifference{Source: f.Source, File: f.File, Against: view.AgainstNothing, Changes: []registry.Change{}, Scheduled: []time.Time{}, Warnings: f.Warnings}
	stored, origin, err := findDefinition(ctx, a, f.Source)
	switch {
	case errors.Is(err, fault.ErrNotFound):
		stored = nil
	case err != nil:
		return d, err
	default:
		d.Against = origin
	}
	d.Changes = append(d.Changes, registry.Diff(stored, f.Parsed)...)
	line, err := ReadVersionLine(ctx, a, f.Source)
	d.Scheduled = append(d.Scheduled, line.Scheduled()...)
	return d, err
}

// findDefinition finds a source as a run would, and where it comes from. Without an app
// only bundled ones are known.
func findDefinition(ctx context.Context, a *App, code string) (src *registry.Source, origin string, err error) {
	if a == nil {
		src, err = Bundled(code)
		return src, view.OriginBundled, err
	}
	src, applied, err := a.Source(ctx, code)
	if applied {
		return src, view.OriginApplied, err
	}
	return src, view.OriginBundled, err
}

// ReadVersionLine reads the versions of a source. Where there is no database there are none.
func ReadVersionLine(ctx context.Context, a *App, code string) (inspect.VersionLine, error) {
	if a == nil {
		return inspect.VersionLine{Now: window.Instant(time.Now())}, nil
	}
	return a.Inspect.VersionLine(ctx, code)
}

// PreviewSource tells what applying a file would do, and writes nothing. What only the
// database can refuse is refused here too; without an app there is none yet. beside are the
// files that are applied with it: their sources will be there.
func PreviewSource(ctx context.Context, a *App, src *registry.Source, o registry.ApplyOptions, beside ...*registry.Source) (out view.SourceApplied, err error) {
	problems, err := src.ForeignProblems(findAmong(ctx, a, beside))
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return out, err
	}
	if a == nil {
		line, err := ReadVersionLine(ctx, nil, src.Code)
		if err != nil {
			return out, err
		}
		return line.Pending(nil, src, o)
	}
	if problems, err = a.storedProblems(ctx, src); err == nil {
		err = problems.Err()
	}
	if err != nil {
		return out, err
	}
	return a.Inspect.Pending(ctx, src, o)
}

// storedProblems finds what is wrong with a source in this database: codes that its
// dictionary has switched off, of which no plan could be made, else rate groups that are
// called like a source.
func (a *App) storedProblems(ctx context.Context, src *registry.Source) (registry.Problems, error) {
	codes, err := a.Definitions.ListCodes(ctx)
	if err != nil {
		return nil, err
	}
	if len(codes) > 0 {
		if problems := src.UnknownCodes(codes); len(problems) > 0 {
			return problems, nil
		}
	}
	if len(src.RateGroups()) == 0 {
		return nil, nil
	}
	sources, err := a.SourceCodes(ctx)
	return src.GroupsLikeSources(sources), err
}

// ApplySource makes a source what a file says, and tells what came of it.
func (a *App) ApplySource(ctx context.Context, src *registry.Source, o registry.ApplyOptions) (view.SourceApplied, error) {
	did, err := a.Definitions.Apply(ctx, src, o)
	if err != nil {
		return view.SourceApplied{}, err
	}
	a.keepOutlines(ctx)
	line, err := a.Inspect.VersionLine(ctx, src.Code)
	return line.Outcome(did), err
}
