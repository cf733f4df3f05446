package admin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newSize(e *term.Env) *cobra.Command {
	var exact bool
	c := &cobra.Command{
		Use:   "size",
		Short: "Show how much room the database takes, by table, by source and per record",
		Long: `Measure how much room the database takes: by table with its indexes, by source, per
record, and against the JSON that the sources sent. What is free inside the file is
used again.

Records are counted. The size of their versions is measured on all of them if there
are few, else on a sample. The tables of a SQLite file above 1 GB are shown one by
one only with --exact, which reads the whole file. A server reports the sizes of its
tables as it last noted them, not to the byte.

The sums are kept: patra status shows them, and patra plan forecasts with them.
patra serve measures once a day. Whole bodies of answers lie beside the database and
are not counted here.`,
		Example: `  patra db size
  patra db size --exact -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return measureSize(cmd.Context(), e, exact) },
	}
	c.Flags().BoolVar(&exact, "exact", false, "show the size of each table also for a large SQLite file, which is read whole")
	return c
}

func measureSize(ctx context.Context, e *term.Env, exact bool) error {
	return openUpkeep(ctx, e, false, func(_ *daemon.App, service *daemon.Upkeep) error {
		f, err := service.Measure(ctx, exact)
		if err != nil {
			return err
		}
		if e.Output == "json" {
			return e.JSON(f)
		}
		return showSize(e, f)
	})
}

func showSize(e *term.Env, f view.Footprint) error {
	about := map[bool]string{true: "about "}
	if err := term.PrintFacts(e, f, []term.Fact{
		{"database", about[f.Estimated] + term.SizeText(f.Bytes)},
		{"of this free", term.SizeText(f.Free)},
		{"records", f.Records},
		{"a record takes", perRecord(f.Bytes-f.Free, f.Records)},
		{"JSON of the sources", about[f.Sampled] + term.SizeText(f.JSONBytes)},
		{"database to JSON", wording.OrDash(shareText(f.Bytes-f.Free, f.JSONBytes))},
	}); err != nil {
		return err
	}
	fmt.Fprintln(e.Out)
	if err := term.PrintList(e, f.Sources, term.NewColumns([]string{"source", "records", "versions", "content", "json", "ratio", "a record"}, func(s view.RoomTaken) []any {
		return []any{s.Source + "/" + s.Endpoint, s.Records, s.Versions, term.SizeText(s.Bytes), term.SizeText(s.JSONBytes), wording.OrDash(shareText(s.Bytes, s.JSONBytes)), term.SizeText(s.PerRecord)}
	})); err != nil {
		return err
	}
	if len(f.Tables) == 0 {
		e.Hint("the size of each table is not shown, because that needs the whole file read: add --exact")
		return nil
	}
	fmt.Fprintln(e.Out)
	return term.PrintList(e, f.Tables, term.NewColumns([]string{"table", "size", "share"}, func(t view.TableSize) []any {
		return []any{t.Name, term.SizeText(t.Bytes), wording.OrDash(shareText(t.Bytes, f.Bytes))}
	}))
}

// perRecord writes a size by record.
func perRecord(bytes, records int64) string {
	if records == 0 {
		return "-"
	}
	return term.SizeText(bytes / records)
}

// shareText writes how large something is against something else.
func shareText(part, whole int64) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", float64(part)/float64(whole))
}
