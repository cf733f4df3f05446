package source

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/cli/consent"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func New(e *term.Env) *cobra.Command {
	return term.NewGroup("source", "Write, check, try, apply and look at sources",
		newSourceList(e), newSourceShow(e), newSourceExplain(e),
		newSourceNew(e), newSourceSchema(e), newSourceValidate(e), newSourceRender(e), newSourceTest(e),
		newSourceDiff(e), newSourceApply(e), consent.NewSourceTrust(e), newSourceExport(e), newSourceHistory(e), newSourcePause(e), newSourceResume(e), newSourceRemove(e))
}

func newSourceList(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the sources that are applied or come with the program",
		Long: `List the sources that are applied to the database or come with the program. A
bundled source need not be applied; an applied one wins over a bundled one.`,
		Example: `  patra source list
  patra source list -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.ReadRegistry(cmd.Context(), func(app *daemon.App) error {
				sources, err := List(cmd.Context(), app)
				if err != nil {
					return err
				}
				return term.PrintList(e, sources, term.NewColumns([]string{"source", "name", "origin", "endpoints", "next tick"}, func(s view.Source) []any {
					next := wording.SecondText(s.NextTick)
					if s.Paused {
						next = "paused"
					}
					if s.Unverified != "" {
						s.Origin += ", unverified"
					}
					return []any{s.Code, wording.Shorten(s.Name, 40), s.Origin, strings.Join(s.Endpoints, ", "), next}
				}))
			})
		},
	}
}

func List(ctx context.Context, app *daemon.App) ([]view.Source, error) {
	if app != nil {
		return app.Sources(ctx)
	}
	var out []view.Source
	for _, code := range catalog.List() {
		src, err := daemon.Bundled(code)
		if err != nil {
			return nil, err
		}
		out = append(out, view.Source{Code: code, Name: src.Name, Origin: view.OriginBundled, Endpoints: slices.Sorted(maps.Keys(src.Endpoints)), Unverified: src.Unverified})
	}
	return out, nil
}
