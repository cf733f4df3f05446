package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newBackfillWaive(e *env) *cobra.Command {
	var a agreeing
	var s stretch
	c := &cobra.Command{
		Use:   "waive NAME",
		Short: "Accept that a stretch of a campaign is not read; it stays visible as waived",
		Long: `Accept that a stretch of a campaign's range is not read, as an event of its ledger
with your name and reason. What of it is read already stays as it is. The rest is
not planned any more and shows as waived. A campaign that owes nothing then is
complete.

The change is shown first. On a terminal you are asked; elsewhere add --yes.`,
		Example: `  patra backfill waive history --from 2017-03-03 --to 2017-03-04 --reason lost-there --dry-run
  patra backfill waive history --from 2017-03-03 --to 2017-03-04 --reason lost-there --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			within, err := s.waived(a)
			if err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.waiveCampaign(cmd.Context(), app, args[0], within, a) })
		},
	}
	s.flags(c, "none", "none")
	a.flags(c)
	return c
}

// waived is the stretch that is to be waived; it has to be named and explained.
func (s *stretch) waived(a agreeing) (w window.Window, err error) {
	if err := a.signed(); err != nil {
		return w, err
	}
	if s.fromText == "" || s.toText == "" {
		return w, usagef("--from and --to are needed: which stretch is waived")
	}
	if err := s.parse(); err != nil {
		return w, err
	}
	return window.Window{From: *s.from, To: *s.to}, nil
}

func (e *env) waiveCampaign(ctx context.Context, app *daemon.App, name string, within window.Window, a agreeing) error {
	do := func(dry bool) (view.CampaignWaived, error) {
		by := a.act()
		by.Rehearsal = dry
		return app.Campaigns.Waive(ctx, name, within, by)
	}
	return agree(e, a, do, func(d view.CampaignWaived) bool { return len(d.Waived.Waived) > 0 }, func(d view.CampaignWaived) error {
		left := "nothing"
		if d.Owed > 0 {
			left = brieflyOf(d.Owed) + " of its range"
		}
		return show(e, d, []fact{
			{"campaign", d.Name},
			{"asked to waive", brief(d.Window)},
			{"waived", stretches(ingest.CursorTime, d.Waived.Waived)},
			{"still owed", left},
			{"state", string(d.State)},
		})
	})
}

// waivedText are the windows of a campaign that somebody waived.
func waivedText(waived []window.Window) string {
	text := counted(len(waived), "window")
	for i, w := range waived {
		if i == mostWindows {
			return text + fmt.Sprintf("\n… and %d more (all of them with -o json)", len(waived)-mostWindows)
		}
		text += "\n" + brief(w)
	}
	return text
}
