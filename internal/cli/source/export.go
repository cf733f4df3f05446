package source

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

func newSourceExport(e *term.Env) *cobra.Command {
	var text string
	c := &cobra.Command{
		Use:   "export SRC",
		Short: "Write a source as a file, as it is or as it was",
		Long: `Write a source as a file to stdout: as applied, else as bundled. The file says the
same as the one it came from; comments are not kept. With --at the version that
was, is or will be in force at that instant.`,
		Example: `  patra source export crossref
  patra source export crossref --at -7d
  patra source export crossref --at 2025-03-01T00:00:00Z -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := term.ParseTime("at", text, time.Now())
			if err != nil {
				return err
			}
			return e.ReadRegistry(cmd.Context(), func(app *daemon.App) error {
				file, err := fileAt(cmd.Context(), app, args[0], at)
				if err != nil {
					return err
				}
				if e.Output == "json" {
					return e.JSON(file)
				}
				return e.WriteStored([]byte(file.YAML))
			})
		},
	}
	c.Flags().StringVar(&text, "at", "", "instant: RFC 3339, a date, or -7d (default now)")
	return c
}

func fileAt(ctx context.Context, app *daemon.App, code string, at *time.Time) (view.SourceFile, error) {
	switch {
	case app != nil:
		return app.Inspect.SourceFile(ctx, code, at)
	case at != nil:
		return view.SourceFile{}, inspect.NoVersionAt(code, *at)
	}
	src, err := daemon.Bundled(code)
	if err != nil {
		return view.SourceFile{}, err
	}
	return inspect.NewSourceFile(src, view.OriginBundled, nil), nil
}

func newSourceSchema(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a source file, for editors",
		Long: `Print the JSON Schema of a source file. Editors complete and check source files
with it, for example after this first line in the file:

  # yaml-language-server: $schema=source.schema.json

The schema sees one key at a time; patra source validate sees the whole.`,
		Example: `  patra source schema`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := e.Out.Write(registry.Schema())
			return err
		},
	}
}
