package work

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/reason"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newBackfillList(e *term.Env) *cobra.Command {
	var state string
	c := &cobra.Command{
		Use:   "list [SRC]",
		Short: "List backfill campaigns, and how far each has come",
		Example: `  patra backfill list
  patra backfill list crossref --state ACTIVE -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted := ingest.CampaignState(strings.ToUpper(state))
			switch wanted {
			case "", ingest.CampaignActive, ingest.CampaignPaused, ingest.CampaignCancelled, ingest.CampaignCompleted:
			default:
				return term.Usagef("--state %s: expected ACTIVE, PAUSED, CANCELLED or COMPLETED", state)
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				return listCampaigns(cmd.Context(), e, app, strings.Join(args, ""), wanted)
			})
		},
	}
	c.Flags().StringVar(&state, "state", "", "only in this state: ACTIVE, PAUSED, CANCELLED, COMPLETED")
	return c
}

func listCampaigns(ctx context.Context, e *term.Env, app *daemon.App, source string, state ingest.CampaignState) error {
	campaigns, err := app.Campaigns.List(ctx, source, state)
	if err != nil {
		return err
	}
	var out []view.Campaign
	for _, c := range campaigns {
		v, err := app.Campaigns.Show(ctx, c)
		if err != nil {
			return err
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		e.Hint("there are none. To begin one: patra backfill SRC --from 2015-01-01")
	}
	if err := term.PrintList(e, out, campaignColumns()); err != nil {
		return err
	}
	return hintStopped(ctx, e, app, out)
}

// hintStopped says why campaigns that are ACTIVE do not go on.
func hintStopped(ctx context.Context, e *term.Env, app *daemon.App, campaigns []view.Campaign) error {
	for _, c := range campaigns {
		if c.State != ingest.CampaignActive {
			continue
		}
		if c.Note != "" {
			e.Hint("campaign %s cannot go on: %s", c.Name, c.Note)
		}
		pause, paused, err := app.Conditions.FindPause(ctx, ingest.Partition{Dataset: ingest.Dataset{Source: c.Source, Endpoint: c.Endpoint}, Operation: ingest.Backfill})
		if err != nil {
			return err
		}
		if paused {
			reason.HintPause(e, pause)
		}
	}
	return nil
}

func campaignColumns() term.Columns[view.Campaign] {
	return term.NewColumns([]string{"name", "source/endpoint", "state", "range", "done", "records", "failed", "eta"}, func(c view.Campaign) []any {
		return []any{
			wording.Shorten(c.Name, 24), wording.Shorten(c.Source+"/"+c.Endpoint, 18), string(c.State), wording.WindowText(c.Range), fmt.Sprintf("%.1f %%", c.Percent), c.Stats.Seen, len(c.Failed), remainingText(c),
		}
	})
}

// remainingText is how long the rest takes at the pace of the last runs.
func remainingText(c view.Campaign) string {
	switch {
	case c.State != ingest.CampaignActive:
		return "-"
	case c.Left == nil:
		return "unknown"
	}
	return time.Duration(*c.Left * float64(time.Second)).Round(time.Second).String()
}

func brieflyOf(d time.Duration) string { return duration.Duration(d).String() }

func newBackfillShow(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show one campaign: range, progress, failed windows, pace",
		Example: `  patra backfill show history
  patra backfill show history -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error { return showCampaign(cmd.Context(), e, app, args[0]) })
		},
	}
}

func showCampaign(ctx context.Context, e *term.Env, app *daemon.App, name string) error {
	c, known, err := app.Campaigns.Find(ctx, name)
	switch {
	case err != nil:
		return err
	case !known:
		return term.NotFoundf("there is no campaign %q: `patra backfill list` names all", name)
	}
	v, err := app.Campaigns.Show(ctx, c)
	if err != nil {
		return err
	}
	t := v.Stats
	facts := []term.Fact{
		{"campaign", v.Name},
		{"source", v.Source + "/" + v.Endpoint},
		{"state", stateText(v)},
		{"range", v.Range.String()},
		{"order", fmt.Sprintf("%s first, in parts of %s", strings.ToLower(string(v.Order)), v.Chunk)},
		{"done", fmt.Sprintf("%.1f %%", v.Percent)},
		{"records", recordOutcomes(t.BatchStats)},
		{"requests", t.Requests},
		{"plans", plansText(v)},
		{"failed", failedText(v)},
		{"eta", remainingText(v)},
	}
	if len(v.Waived) > 0 {
		facts = append(facts, term.Fact{"waived", waivedText(v.Waived)})
	}
	if len(v.Overrides) > 0 {
		facts = append(facts, term.Fact{"settings", strings.Join(v.Overrides, "\n")})
	}
	if err := term.PrintFacts(e, v, facts); err != nil {
		return err
	}
	if len(v.Failed) > 0 {
		e.Hint("what can never be read may be waived: patra backfill waive %s --from … --to … --reason …", v.Name)
	}
	return hintStopped(ctx, e, app, []view.Campaign{v})
}

func plansText(v view.Campaign) string {
	of := fmt.Sprintf("%d open", len(v.Open))
	if v.Archived > 0 {
		of += fmt.Sprintf(" and %d archived", v.Archived)
	}
	return fmt.Sprintf("%d, of these %s; %s waiting, %d running", v.Plans, of, wording.Count(v.Waiting, "task"), v.Running)
}

func stateText(c view.Campaign) string {
	text := fmt.Sprintf("%s since %s", c.State, wording.SecondText(c.Since))
	if c.State == ingest.CampaignPaused || c.State == ingest.CampaignCancelled {
		text += fmt.Sprintf(" by %s: %s", c.Actor, c.Reason)
	}
	return text
}

// mostWindows is how many windows of a kind are named.
const mostWindows = 5

func failedText(c view.Campaign) string {
	if len(c.Failed) == 0 {
		return "none"
	}
	text := wording.Count(len(c.Failed), "window") + ", tried again from " + wording.SecondText(c.NextRetry)
	for i, w := range c.Failed {
		if i == mostWindows {
			text += fmt.Sprintf("\n… and %d more (all of them with -o json)", len(c.Failed)-mostWindows)
			break
		}
		text += "\n" + wording.WindowText(w)
	}
	return text
}

// newCampaignAct is a command that brings a campaign into a state.
func newCampaignAct(e *term.Env, c *cobra.Command, do func(*daemon.App, context.Context, string, ingest.Act) (view.CampaignDone, error)) *cobra.Command {
	var a term.Acting
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if a.Reason == "" {
			return term.Usagef("--reason is needed: whoever finds this later will ask for it")
		}
		return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
			done, err := do(app, cmd.Context(), args[0], a.Act())
			if err != nil {
				return err
			}
			return showCampaignDone(e, done)
		})
	}
	a.Flags(c)
	return c
}

func newBackfillPause(e *term.Env) *cobra.Command {
	return newCampaignAct(e, &cobra.Command{
		Use:   "pause NAME",
		Short: "Stop a campaign until it is resumed; others go on",
		Long: `Stop a campaign. No part of it is planned, and none of its tasks is begun. Workers
stop after the page they are reading, and tasks stay in the queue as they are. Other
campaigns and the harvest of the source go on. Pausing what is paused changes
nothing.`,
		Example: `  patra backfill pause history --reason quota
  patra backfill pause history --reason quota --dry-run -o json`,
	}, func(app *daemon.App, ctx context.Context, name string, by ingest.Act) (view.CampaignDone, error) {
		return app.Campaigns.Pause(ctx, name, by)
	})
}

func newBackfillResume(e *term.Env) *cobra.Command {
	return newCampaignAct(e, &cobra.Command{
		Use:   "resume NAME",
		Short: "Go on with a campaign that was paused or cancelled",
		Long: `Let a campaign continue that was paused or cancelled. ` + "`patra serve`" + ` works on it
automatically; without it, repeat the command that began it. What was read is not
read again. A completed campaign is refused with exit code 6.`,
		Example: `  patra backfill resume history --reason quota-is-back
  patra backfill resume history --reason quota-is-back --dry-run`,
	}, func(app *daemon.App, ctx context.Context, name string, by ingest.Act) (view.CampaignDone, error) {
		return app.Campaigns.Resume(ctx, name, by)
	})
}

func newBackfillCancel(e *term.Env) *cobra.Command {
	return newCampaignAct(e, &cobra.Command{
		Use:   "cancel NAME",
		Short: "Give a campaign up; what it has not read stays owed",
		Long: `Give a campaign up. Its plans are cancelled: tasks without a worker at once,
others after the page their worker reads. What was read stays. What was not read
stays owed and shows as a gap. To take it back, resume it. Cancelling what is
cancelled changes nothing, and finishes a cancellation that was interrupted.`,
		Example: `  patra backfill cancel history --reason wrong-range --dry-run
  patra backfill cancel history --reason wrong-range`,
	}, func(app *daemon.App, ctx context.Context, name string, by ingest.Act) (view.CampaignDone, error) {
		return app.Campaigns.Cancel(ctx, name, by)
	})
}

func showCampaignDone(e *term.Env, d view.CampaignDone) error {
	if !d.Changed {
		e.Hint("campaign %s was %s already", d.Name, d.State)
	}
	facts := []term.Fact{{"campaign", d.Name}, {"state", string(d.State)}, {"since", d.Since}, {"by", d.Actor}, {"reason", term.Wrap(d.Reason)}}
	next := fmt.Sprintf("to go on: patra backfill resume %s --reason …", d.Name)
	switch d.State {
	case ingest.CampaignPaused:
		facts = append(facts, term.Fact{"stopping", wording.Count(d.Running, "task") + ", after the page that is read"}, term.Fact{"waiting", wording.Count(d.Waiting, "task")})
	case ingest.CampaignActive:
		facts = append(facts, term.Fact{"waiting", wording.Count(d.Waiting, "task")})
		next = fmt.Sprintf("`patra serve` works on it, or: patra backfill SRC --name %s", d.Name)
	case ingest.CampaignCancelled:
		var cancelled, stopping int
		for _, p := range d.Plans {
			cancelled, stopping = cancelled+p.Cancelled, stopping+p.Stopping
		}
		facts = append(facts, term.Fact{"plans", len(d.Plans)}, term.Fact{"cancelled", wording.Count(cancelled, "slice")}, term.Fact{"stopping", wording.Count(stopping, "slice")})
		next = "what was not read stays owed. To take it back: patra backfill resume " + d.Name + " --reason …"
	}
	err := term.PrintFacts(e, d, facts)
	e.HintDryRun(d.DryRun)
	e.Hint("%s", next)
	return err
}
