package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newSource(e *env) *cobra.Command {
	return group("source", "Look at sources, and check and apply source files", newSourceList(e), newSourceShow(e), newSourceValidate(e), newSourceApply(e))
}

func newSourceList(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the sources that are applied or come with the program",
		Long: `List the sources that are applied to the database or come with the program. A
bundled source needs not be applied; an applied one wins over a bundled one.`,
		Example: `  patra source list
  patra source list -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.registry(cmd.Context(), func(app *daemon.App) error {
				sources, err := sourcesOf(cmd.Context(), app)
				if err != nil {
					return err
				}
				return list(e, sources, columns[view.Source]{[]string{"source", "name", "origin", "endpoints"}, func(s view.Source) []any {
					return []any{s.Code, short(s.Name, 40), s.Origin, strings.Join(s.Endpoints, ", ")}
				}})
			})
		},
	}
}

// registry reads with the database if there is one. Bundled sources need none,
// and looking at them must not create one: app is nil then.
func (e *env) registry(ctx context.Context, read func(*daemon.App) error) error {
	app, err := e.look(ctx)
	if daemon.IsMissing(err) {
		return read(nil)
	}
	if err != nil {
		return err
	}
	defer app.Close()
	return read(app)
}

func sourcesOf(ctx context.Context, app *daemon.App) ([]view.Source, error) {
	if app != nil {
		return app.Sources(ctx)
	}
	var out []view.Source
	for _, code := range catalog.List() {
		src, err := daemon.Bundled(code)
		if err != nil {
			return nil, err
		}
		out = append(out, view.Source{Code: code, Name: src.Name, Origin: "bundled", Endpoints: slices.Sorted(maps.Keys(src.Endpoints))})
	}
	return out, nil
}

func sourceOf(ctx context.Context, app *daemon.App, code string) (src *registry.Source, origin string, err error) {
	applied := false
	if app == nil {
		src, err = daemon.Bundled(code)
	} else {
		src, applied, err = app.Source(ctx, code)
	}
	if applied {
		return src, "applied", err
	}
	return src, "bundled", err
}

// setting is one merged value.
type setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// configuration is what holds for one operation of one endpoint.
type configuration struct {
	Source      string    `json:"source"`
	Name        string    `json:"name"`
	Origin      string    `json:"origin"`
	Endpoint    string    `json:"endpoint"`
	Operation   string    `json:"operation"`
	Fingerprint string    `json:"specFingerprint"`
	Warnings    []string  `json:"warnings"`
	Settings    []setting `json:"settings"`
}

func newSourceShow(e *env) *cobra.Command {
	var endpoint string
	var set []string
	operation := string(ingest.Harvest)
	c := &cobra.Command{
		Use:   "show SRC",
		Short: "Show every setting of a source and where it came from",
		Long: `Show every setting that holds for one operation of a source, merged from platform
defaults, the source file and --set, with the place each value came from.`,
		Example: `  patra source show crossref
  patra source show crossref --endpoint works --op BACKFILL
  patra source show crossref --set rate.perSecond=1 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			op, err := ingest.ParseOperation(operation)
			if err != nil {
				return usagef("--op: %w", err)
			}
			overrides, err := parseOverrides(set)
			if err != nil {
				return err
			}
			return e.registry(cmd.Context(), func(app *daemon.App) error {
				src, origin, err := sourceOf(cmd.Context(), app, args[0])
				if err != nil {
					return err
				}
				return e.showSource(src, origin, endpoint, op, overrides)
			})
		},
	}
	c.Flags().StringVar(&endpoint, "endpoint", "", "endpoint of the source (default: the only one)")
	c.Flags().StringVar(&operation, "op", operation, "HARVEST, BACKFILL or UPDATE")
	c.Flags().StringArrayVar(&set, "set", nil, "show the effect of an override, such as rate.perSecond=1")
	return c
}

func parseOverrides(set []string) ([]registry.Override, error) {
	var out []registry.Override
	for _, text := range set {
		o, err := registry.ParseOverride(text)
		if err != nil {
			return nil, usagef("--set %s: %w", text, err)
		}
		out = append(out, o)
	}
	return out, nil
}

func (e *env) showSource(src *registry.Source, origin, endpoint string, op ingest.Operation, overrides []registry.Override) error {
	compiled, err := daemon.Compile(src, endpoint, op, overrides)
	if err != nil {
		return err
	}
	resolved, err := registry.Resolve(src, compiled.Snapshot.Endpoint, string(op), overrides)
	if err != nil {
		return err
	}
	c := configuration{
		Source: src.Code, Name: src.Name, Origin: origin, Endpoint: resolved.Endpoint, Operation: resolved.Operation,
		Fingerprint: compiled.Fingerprint, Warnings: append([]string{}, compiled.Warnings...),
	}
	for _, x := range resolved.Explain() {
		c.Settings = append(c.Settings, setting{x.Path, x.Value, x.Origin})
	}
	if e.output == "json" {
		return e.json(c)
	}
	err = list(e, c.Settings, columns[setting]{[]string{"path", "value", "from"}, func(s setting) []any { return []any{s.Path, short(s.Value, 40), s.From} }})
	e.hint("%s %s %s (%s), fingerprint %s", c.Source, c.Endpoint, c.Operation, c.Origin, c.Fingerprint)
	for _, text := range c.Warnings {
		e.hint("warning: %s", text)
	}
	return err
}
