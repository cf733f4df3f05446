package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newData(e *env) *cobra.Command {
	return group("data", "Take records out: export, look up, count", newDataExport(e), newDataVerify(e), newDataGet(e), newDataList(e), newDataCount(e))
}

// dataset opens the database and finds the records of SRC or SRC/ENDPOINT. A source
// nobody knows is a slip.
func (e *env) dataset(ctx context.Context, name string, use func(*daemon.App, view.Dataset) error) error {
	f := &filter{}
	f.Source, _ = cutEndpoint(name)
	return e.listing(ctx, f, func(app *daemon.App) error {
		d, err := app.Dataset(ctx, name)
		if err != nil {
			return err
		}
		return use(app, d)
	})
}

func newDataList(e *env) *cobra.Command {
	var after string
	var limit int
	c := &cobra.Command{
		Use:   "list SRC[/ENDPOINT]",
		Short: "List records of a source",
		Long: `List records in the order of their keys, which is that of no date. --after goes on
behind a record.`,
		Example: `  patra data list crossref
  patra data list crossref/works --limit 500 -o json
  patra data list crossref --after 10.5555/12345678`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 || limit > pageSizeMax {
				return usagef("--limit %d: expected 1 to %d", limit, pageSizeMax)
			}
			return e.dataset(cmd.Context(), args[0], func(app *daemon.App, d view.Dataset) error {
				rows, err := app.Records.List(cmd.Context(), d, after, limit+1)
				if err != nil {
					return err
				}
				return listPage(e, pageAfter(e, "records", rows, limit, func(r view.Record) string { return r.ID }), newColumns([]string{"id", "version", "state", "updated", "fetched"}, func(r view.Record) []any {
					return []any{short(printable(r.ID), 50), r.Version, r.State, r.UpdatedAt, r.FetchAt}
				}))
			})
		},
	}
	c.Flags().StringVar(&after, "after", "", "id of the record to go on behind")
	c.Flags().IntVar(&limit, "limit", pageSize, "how many to list")
	return c
}

// stock is how many records there are.
type stock struct {
	view.Dataset
	Active int64 `json:"active"`
	Gone   int64 `json:"gone"`
	All    int64 `json:"all"`
}

func newDataCount(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "count SRC[/ENDPOINT]",
		Short: "Count records of a source",
		Long: `Count records by state. They are counted one by one, in parts, beside processes that
work: a million takes about a second.`,
		Example: `  patra data count crossref
  patra data count crossref/works -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.dataset(cmd.Context(), args[0], func(app *daemon.App, d view.Dataset) error {
				active, gone, err := app.Records.Count(cmd.Context(), d)
				if err != nil {
					return err
				}
				return show(e, stock{d, active, gone, active + gone}, []fact{
					{"records of", d.Source + " " + d.Endpoint}, {"active", active}, {"gone", gone}, {"all", active + gone},
				})
			})
		},
	}
}
