package coverage

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

func newCoverageWaive(e *term.Env) *cobra.Command {
	var a term.Confirming
	var s term.RangeFlags
	var cursor int64
	var partition string
	c := &cobra.Command{
		Use:   "waive [SRC[/ENDPOINT]]",
		Short: "Accept that a range of time is not read; it stays visible as waived",
		Long: `Accept that a range of time is not read. It is an event of the ledger, with your
name and reason. What is already done in the range stays as it is. The rest no longer
holds up the watermark, is no gap any more, and is drawn as waived from then on. A
later plan that wants it again, for instance by its lookback, opens it again.

SRC waives a range of its harvest. A window that an UPDATE gave up is waived with
--cursor: its id is in ` + "`patra status`" + ` and ` + "`patra cursor list`" + `. A window of a
backfill campaign is waived with ` + "`patra backfill waive`" + `.

With --partition only that part of a list is waived, where it is behind the others:
` + "`patra coverage gaps`" + ` says where. The window counts as waived when no other part of
it is missing.

The change is shown first. On a terminal you are asked; elsewhere add --yes.`,
		Example: `  patra coverage waive crossref --from 2025-03-03 --to 2025-03-04 --reason lost-there --dry-run
  patra coverage waive crossref/works --from 2025-03-03 --to 2025-03-04 --reason lost --yes
  patra coverage waive arxiv --partition set=cs --from 2025-03-03 --to 2025-03-04 --reason gone --yes
  patra coverage waive --cursor 4 --from 2025-03-03 --to 2025-03-04 --reason lost --yes`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			within, err := s.ParseWaived(a)
			if err != nil {
				return err
			}
			byID := cmd.Flags().Changed("cursor")
			if byID == (len(args) == 1) {
				return term.Usagef("name a source or, with --cursor, one watermark: not both, not neither")
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				var of view.Cursor
				if byID {
					of, err = findWaivable(cmd.Context(), app, cursor)
				} else {
					of, err = harvestCursor(cmd.Context(), e, app, args[0])
				}
				if err != nil {
					return err
				}
				if partition != "" {
					return waiveOf(cmd.Context(), e, app, of, partition, within, a)
				}
				return waiveRange(cmd.Context(), e, app, of, within, a)
			})
		},
	}
	s.Flags(c, "none", "none")
	c.Flags().Int64Var(&cursor, "cursor", 0, "id of the watermark, such as that of an update, instead of SRC")
	addPartitionFlag(c, &partition)
	a.Flags(c)
	return c
}

// findWaivable finds a watermark whose windows can be waived one by one.
func findWaivable(ctx context.Context, app *daemon.App, id int64) (view.Cursor, error) {
	c, err := app.Cursors.Show(ctx, id)
	if err != nil {
		return c, fmt.Errorf("cursor %d: %w", id, err)
	}
	if c.Line() != ingest.CursorTime {
		return c, term.Usagef("cursor %d counts %s and not time: nothing stays owed in it, the next update finds automatically what is still open", id, c.Key)
	}
	campaigns, err := app.Campaigns.List(ctx, c.Source, "")
	for _, campaign := range campaigns {
		if campaign.CursorID == id {
			return c, term.Usagef("cursor %d is of the campaign %s: use `patra backfill waive %s`, which can also complete it", id, campaign.Name, campaign.Name)
		}
	}
	return c, err
}

func harvestCursor(ctx context.Context, e *term.Env, app *daemon.App, name string) (view.Cursor, error) {
	b, err := findOneCoverage(ctx, e, app, name)
	return b.Cursor, err
}

func waiveRange(ctx context.Context, e *term.Env, app *daemon.App, of view.Cursor, within window.Window, a term.Confirming) error {
	do := func(dry bool) (view.Waived, error) {
		by := a.Act()
		by.Rehearsal = dry
		return app.Cursors.Waive(ctx, of.ID, within, by)
	}
	return term.RehearseAndDo(e, a, do, func(d view.Waived) bool { return len(d.Waived) > 0 }, func(d view.Waived) error {
		return term.PrintFacts(e, d, []term.Fact{
			{"cursor", fmt.Sprintf("%d: %s %s %s by %s", of.ID, of.Source, of.Endpoint, of.Operation, of.Key)},
			{"asked to waive", wording.WindowText(d.Window)},
			{"waived", term.RangesText(ingest.CursorTime, d.Waived)},
			{"watermark", wording.OrDash(d.Before) + " → " + wording.OrDash(d.After)},
		})
	})
}

// findOneCoverage is the harvest of a source that was named, or of one of its endpoints.
func findOneCoverage(ctx context.Context, e *term.Env, app *daemon.App, name string) (inspect.EndpointCoverage, error) {
	code, endpoint, _ := strings.Cut(name, "/")
	src, _, err := app.Source(ctx, code)
	if err != nil {
		return inspect.EndpointCoverage{}, err
	}
	covered, err := FindCoverage(ctx, e, app, src)
	if err != nil {
		return inspect.EndpointCoverage{}, err
	}
	var found []inspect.EndpointCoverage
	for _, b := range covered {
		if b.Known() && (endpoint == "" || b.Endpoint == endpoint) {
			found = append(found, b)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return inspect.EndpointCoverage{}, term.NotFoundf("%s was never harvested here as the source asks now: there is no watermark to act on", name)
	}
	return inspect.EndpointCoverage{}, term.Usagef("%s has several watermarks: name one of its endpoints, as in %s/%s", name, code, found[0].Endpoint)
}
