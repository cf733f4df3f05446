package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newSource(e *env) *cobra.Command {
	return group("source", "Write, check, try, apply and look at sources",
		newSourceList(e), newSourceShow(e), newSourceExplain(e),
		newSourceNew(e), newSourceSchema(e), newSourceValidate(e), newSourceRender(e), newSourceTest(e),
		newSourceDiff(e), newSourceApply(e), newSourceTrust(e), newSourceExport(e), newSourceHistory(e), newSourcePause(e), newSourceResume(e))
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
				return list(e, sources, newColumns([]string{"source", "name", "origin", "endpoints"}, func(s view.Source) []any {
					return []any{s.Code, short(s.Name, 40), s.Origin, strings.Join(s.Endpoints, ", ")}
				}))
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
		out = append(out, view.Source{Code: code, Name: src.Name, Origin: originBundled, Endpoints: slices.Sorted(maps.Keys(src.Endpoints))})
	}
	return out, nil
}

func parseOverrides(set []string) ([]registry.Override, error) {
	var out []registry.Override
	for _, text := range set {
		o, err := registry.ParseOverride(text)
		if err != nil {
			return nil, usagef("--set: %w", err) // it names the path; the value may be a secret
		}
		out = append(out, o)
	}
	return out, nil
}
