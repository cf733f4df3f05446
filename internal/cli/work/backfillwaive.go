package work

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newBackfillWaive(e *term.Env) *cobra.Command {
	var a term.Confirming
	var s term.RangeFlags
	c := &cobra.Command{
		Use:   "waive NAME",
		Short: "Accept that a range of a campaign is not read; it stays visible as waived",
		Long: `Accept that a part of a campaign's range is not read. It is an event of its ledger,
with your name and reason. What was already read of that part stays as it is. The
rest is not planned any more and shows as waived. If the campaign then owes nothing,
it is complete.

The change is shown first. On a terminal you are asked; elsewhere add --yes.`,
		Example: `  patra backfill waive history --from 2017-03-03 --to 2017-03-04 --reason lost-there --dry-run
  patra backfill waive history --from 2017-03-03 --to 2017-03-04 --reason lost-there --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			within, err := s.ParseWaived(a)
			if err != nil {
				return err
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error { return waiveCampaign(cmd.Context(), e, app, args[0], within, a) })
		},
	}
	s.Flags(c, "none", "none")
	a.Flags(c)
	return c
}

func waiveCampaign(ctx context.Context, e *term.Env, app *daemon.App, name string, within window.Window, a term.Confirming) error {
	do := func(dry bool) (view.CampaignWaived, error) {
		by := a.Act()
		by.Rehearsal = dry
		return app.Campaigns.Waive(ctx, name, within, by)
	}
	return term.RehearseAndDo(e, a, do, func(d view.CampaignWaived) bool { return len(d.Waived.Waived) > 0 }, func(d view.CampaignWaived) error {
		left := "nothing"
		if d.Owed > 0 {
			left = brieflyOf(d.Owed) + " of its range"
		}
		return term.PrintFacts(e, d, []term.Fact{
			{"campaign", d.Name},
			{"asked to waive", wording.WindowText(d.Window)},
			{"waived", term.RangesText(ingest.CursorTime, d.Waived.Waived)},
			{"still owed", left},
			{"state", string(d.State)},
		})
	})
}

// waivedText are the windows of a campaign that somebody waived.
func waivedText(waived []window.Window) string {
	text := wording.Count(len(waived), "window")
	for i, w := range waived {
		if i == mostWindows {
			return text + fmt.Sprintf("\n… and %d more (all of them with -o json)", len(waived)-mostWindows)
		}
		text += "\n" + wording.WindowText(w)
	}
	return text
}
