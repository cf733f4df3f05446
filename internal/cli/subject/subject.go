package subject

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Attempts returns how often a request is tried: once, so that a retry does not hide the
// first failure, or 0, which means as often as the source says, if --set names
// retry.maxAttempts. The fingerprint of the source does not change.
func (a Selection) Attempts() int {
	for _, text := range a.Set {
		if o, err := registry.ParseOverride(text); err == nil && o.Path.String() == "retry.maxAttempts" {
			return 0 // as the source says now
		}
	}
	return 1
}

// Subject is a source to look at.
type Subject struct {
	Parsed    *registry.Source
	Origin    string
	Name      string           // as it was typed: a code or a file
	installed daemon.Installed // whose contact is sent where the source names none
}

// IsFile tells a source file from the code of a source, which has neither a dot
// nor a slash.
func IsFile(name string) bool {
	return strings.ContainsRune(name, '.') || strings.ContainsRune(name, filepath.Separator)
}

// Find finds a source by its code, as a run would find it now, or reads it
// from a file. A file needs no database and none is opened.
func Find(ctx context.Context, e *term.Env, name string) (s Subject, err error) {
	if IsFile(name) {
		file, problems := CheckFile(name)
		return Subject{file.Parsed, view.OriginFile, name, e.Installed}, ProblemsError(problems)
	}
	err = e.ReadRegistry(ctx, func(app *daemon.App) error {
		s, err = FindStored(ctx, app, name)
		return err
	})
	s.Name, s.installed = name, e.Installed
	return s, err
}

func FindStored(ctx context.Context, app *daemon.App, code string) (Subject, error) {
	if app == nil {
		src, err := daemon.Bundled(code)
		return Subject{Parsed: src, Origin: view.OriginBundled}, err
	}
	src, applied, err := app.Source(ctx, code)
	if applied {
		return Subject{Parsed: src, Origin: view.OriginApplied}, err
	}
	return Subject{Parsed: src, Origin: view.OriginBundled}, err
}

// Selection are the flags that choose one operation of one endpoint.
type Selection struct {
	Endpoint, Operation string
	Set                 []string
}

func (a *Selection) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&a.Endpoint, "endpoint", "", "endpoint of the source (default: the only one that is searched)")
	f.StringVar(&a.Operation, "op", "", "HARVEST, BACKFILL or UPDATE (default HARVEST, or what the endpoint serves)")
	f.StringArrayVar(&a.Set, "set", nil, "override a setting, such as rate.perSecond=1")
}

// Selected is one operation of one endpoint, ready to look at.
type Selected struct {
	Subject
	Resolved *registry.Resolved
	Compiled *spec.Compiled
}

// Compile compiles what the flags chose.
func (a Selection) Compile(s Subject) (Selected, error) {
	op, err := a.chooseOperation(s.Parsed)
	if err != nil {
		return Selected{}, err
	}
	overrides, err := term.ParseOverrides(a.Set)
	if err != nil {
		return Selected{}, err
	}
	resolved, err := daemon.Resolve(s.Parsed, a.Endpoint, op, overrides)
	if err != nil {
		return Selected{}, err
	}
	s.installed.FillSettings(resolved)
	compiled, err := spec.Compile(resolved)
	if err != nil {
		return Selected{}, term.Usage(err)
	}
	return Selected{s, resolved, compiled}, nil
}

// chooseOperation is the operation that was asked for, else the first one the endpoint
// can serve: a DETAIL endpoint does not harvest.
func (a Selection) chooseOperation(src *registry.Source) (ingest.Operation, error) {
	if a.Operation != "" {
		op, err := ingest.ParseOperation(a.Operation)
		if err != nil {
			return op, term.Usagef("--op: %w", err)
		}
		return op, nil
	}
	return daemon.ChooseOperation(src, a.Endpoint), nil
}

func (a Selected) String() string {
	s := a.Compiled.Snapshot
	return s.Source + " " + s.Endpoint + " " + string(s.Operation) + " (" + a.Origin + ")"
}

// Warn tells what the source cannot do.
func Warn(e *term.Env, list []spec.Warning) {
	for _, w := range list {
		e.Hint("warning: %s", w)
	}
}
