package data

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func New(e *term.Env) *cobra.Command {
	return term.NewGroup("data", "Take records out: export, look up, count", newDataExport(e), newDataVerify(e), newDataGet(e), newDataList(e), newDataChanges(e), newDataCount(e))
}

// readDataset opens the database and finds the records of SRC or SRC/ENDPOINT. A source
// nobody knows is a slip.
func readDataset(ctx context.Context, e *term.Env, name string, use func(*daemon.App, view.Dataset) error) error {
	source, _ := cutEndpoint(name)
	return e.ReadSource(ctx, source, func(app *daemon.App) error {
		d, err := app.Dataset(ctx, name)
		if err != nil {
			return err
		}
		return use(app, d)
	})
}

func newDataList(e *term.Env) *cobra.Command {
	var after string
	var limit int
	c := &cobra.Command{
		Use:   "list SRC[/ENDPOINT]",
		Short: "List records of a source",
		Long: `List records in the order of their keys, a hash of the id, so the order says nothing
about dates. --after ID continues after that record.`,
		Example: `  patra data list crossref
  patra data list crossref/works --limit 500 -o json
  patra data list crossref --after 10.5555/12345678`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := term.CheckLimit(limit); err != nil {
				return err
			}
			return readDataset(cmd.Context(), e, args[0], func(app *daemon.App, d view.Dataset) error {
				rows, err := app.Records.List(cmd.Context(), d, after, limit+1)
				if err != nil {
					return err
				}
				return term.PrintPage(e, term.PageAfter(e, "records", rows, limit, func(r view.Record) string { return r.ID }), term.NewColumns([]string{"id", "version", "state", "updated", "fetched"}, func(r view.Record) []any {
					return []any{wording.Shorten(term.Printable(r.ID), 50), r.Version, r.State, r.UpdatedAt, r.FetchAt}
				}))
			})
		},
	}
	c.Flags().StringVar(&after, "after", "", "continue after the record with this id")
	term.LimitFlag(c, &limit, "how many to list")
	return c
}

// stock is how many records there are.
type stock struct {
	view.Dataset
	Active int64 `json:"active"`
	Gone   int64 `json:"gone"`
	All    int64 `json:"all"`
}

func newDataCount(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "count SRC[/ENDPOINT]",
		Short: "Count records of a source",
		Long: `Count records by state. They are counted one by one, in parts, while other processes
work: a million takes about a second.`,
		Example: `  patra data count crossref
  patra data count crossref/works -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return readDataset(cmd.Context(), e, args[0], func(app *daemon.App, d view.Dataset) error {
				active, gone, err := app.Records.Count(cmd.Context(), d)
				if err != nil {
					return err
				}
				return term.PrintFacts(e, stock{d, active, gone, active + gone}, []term.Fact{
					{"records of", d.Source + " " + d.Endpoint}, {"active", active}, {"gone", gone}, {"all", active + gone},
				})
			})
		},
	}
}
