package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Where a source comes from.
const (
	originApplied = "applied"
	originBundled = "bundled"
	originFile    = "file"
)

// subject is a source to look at.
type subject struct {
	src       *registry.Source
	origin    string
	name      string           // as it was typed: a code or a file
	installed daemon.Installed // whose contact is sent where the source names none
}

// isFile tells a source file from the code of a source, which has neither a dot
// nor a slash.
func isFile(name string) bool {
	return strings.ContainsRune(name, '.') || strings.ContainsRune(name, filepath.Separator)
}

// subject finds a source by its code, as a run would find it now, or reads it
// from a file. A file needs no database and none is opened.
func (e *env) subject(ctx context.Context, name string) (s subject, err error) {
	if isFile(name) {
		file, problems := checkFile(name)
		return subject{file.src, originFile, name, e.installed}, refuse(problems)
	}
	err = e.registry(ctx, func(app *daemon.App) error {
		s, err = subjectOf(ctx, app, name)
		return err
	})
	s.name, s.installed = name, e.installed
	return s, err
}

func subjectOf(ctx context.Context, app *daemon.App, code string) (subject, error) {
	if app == nil {
		src, err := daemon.Bundled(code)
		return subject{src: src, origin: originBundled}, err
	}
	src, applied, err := app.Source(ctx, code)
	if applied {
		return subject{src: src, origin: originApplied}, err
	}
	return subject{src: src, origin: originBundled}, err
}

// aim are the flags that choose one operation of one endpoint.
type aim struct {
	endpoint, operation string
	set                 []string
}

func (a *aim) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&a.endpoint, "endpoint", "", "endpoint of the source (default: the only one that is searched)")
	f.StringVar(&a.operation, "op", "", "HARVEST, BACKFILL or UPDATE (default HARVEST, or what the endpoint serves)")
	f.StringArrayVar(&a.set, "set", nil, "override a setting, such as rate.perSecond=1")
}

// aimed is one operation of one endpoint, ready to look at.
type aimed struct {
	subject
	resolved *registry.Resolved
	compiled *spec.Compiled
}

// at compiles what the flags chose.
func (a aim) at(s subject) (aimed, error) {
	op, err := a.serving(s.src)
	if err != nil {
		return aimed{}, err
	}
	overrides, err := parseOverrides(a.set)
	if err != nil {
		return aimed{}, err
	}
	resolved, err := daemon.Resolve(s.src, a.endpoint, op, overrides)
	if err != nil {
		return aimed{}, err
	}
	s.installed.FillContact(resolved)
	compiled, err := spec.Compile(resolved)
	if err != nil {
		return aimed{}, usage(err)
	}
	return aimed{s, resolved, compiled}, nil
}

// serving is the operation that was asked for, else the first one the endpoint
// can serve: a DETAIL endpoint does not harvest.
func (a aim) serving(src *registry.Source) (ingest.Operation, error) {
	if a.operation != "" {
		op, err := ingest.ParseOperation(a.operation)
		if err != nil {
			return op, usagef("--op: %w", err)
		}
		return op, nil
	}
	if endpoint, known := src.Endpoints[a.endpoint]; known && !slices.Contains(endpoint.Operates(), string(ingest.Harvest)) {
		return ingest.Operation(endpoint.Operates()[0]), nil
	}
	return ingest.Harvest, nil
}

func (a aimed) String() string {
	s := a.compiled.Snapshot
	return s.Source + " " + s.Endpoint + " " + string(s.Operation) + " (" + a.origin + ")"
}

// warn tells what the source cannot do.
func (e *env) warn(list []spec.Warning) {
	for _, w := range list {
		e.hint("warning: %s", w)
	}
}
