package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newBackfillList(e *env) *cobra.Command {
	var state string
	c := &cobra.Command{
		Use:   "list [SRC]",
		Short: "List backfill campaigns with how far they are",
		Example: `  patra backfill list
  patra backfill list crossref --state ACTIVE -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted := ingest.CampaignState(strings.ToUpper(state))
			switch wanted {
			case "", ingest.CampaignActive, ingest.CampaignPaused, ingest.CampaignCancelled, ingest.CampaignCompleted:
			default:
				return usagef("--state %s: expected ACTIVE, PAUSED, CANCELLED or COMPLETED", state)
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error {
				return e.listCampaigns(cmd.Context(), app, strings.Join(args, ""), wanted)
			})
		},
	}
	c.Flags().StringVar(&state, "state", "", "only in this state: ACTIVE, PAUSED, CANCELLED, COMPLETED")
	return c
}

func (e *env) listCampaigns(ctx context.Context, app *daemon.App, source string, state ingest.CampaignState) error {
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
		e.hint("there are none. To begin one: patra backfill SRC --from 2015-01-01")
	}
	if err := list(e, out, campaignColumns()); err != nil {
		return err
	}
	return e.hintStopped(ctx, app, out)
}

// hintStopped says why campaigns that are ACTIVE do not go on.
func (e *env) hintStopped(ctx context.Context, app *daemon.App, campaigns []view.Campaign) error {
	for _, c := range campaigns {
		if c.State != ingest.CampaignActive {
			continue
		}
		if c.Note != "" {
			e.hint("campaign %s cannot go on: %s", c.Name, c.Note)
		}
		pause, paused, err := app.Conditions.FindPause(ctx, ingest.Partition{Dataset: ingest.Dataset{Source: c.Source, Endpoint: c.Endpoint}, Operation: ingest.Backfill})
		if err != nil {
			return err
		}
		if paused {
			e.hintPause(pause)
		}
	}
	return nil
}

func campaignColumns() columns[view.Campaign] {
	return newColumns([]string{"name", "source/endpoint", "state", "range", "done", "records", "failed", "eta"}, func(c view.Campaign) []any {
		return []any{
			short(c.Name, 24), short(c.Source+"/"+c.Endpoint, 18), string(c.State), brief(c.Range), fmt.Sprintf("%.1f %%", c.Percent), c.Stats.Seen, len(c.Failed), eta(c),
		}
	})
}

// eta is how long the rest takes at the pace of the last runs.
func eta(c view.Campaign) string {
	switch {
	case c.State != ingest.CampaignActive:
		return "-"
	case c.Left == nil:
		return "unknown"
	}
	return time.Duration(*c.Left * float64(time.Second)).Round(time.Second).String()
}

func brieflyOf(d time.Duration) string { return duration.Duration(d).String() }

func newBackfillShow(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show one campaign: range, progress, failed windows, pace",
		Example: `  patra backfill show history
  patra backfill show history -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.showCampaign(cmd.Context(), app, args[0]) })
		},
	}
}

func (e *env) showCampaign(ctx context.Context, app *daemon.App, name string) error {
	c, known, err := app.Campaigns.Find(ctx, name)
	switch {
	case err != nil:
		return err
	case !known:
		return notFound("there is no campaign %q: `patra backfill list` names all", name)
	}
	v, err := app.Campaigns.Show(ctx, c)
	if err != nil {
		return err
	}
	t := v.Stats
	facts := []fact{
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
		{"eta", eta(v)},
	}
	if len(v.Waived) > 0 {
		facts = append(facts, fact{"waived", waivedText(v.Waived)})
	}
	if len(v.Overrides) > 0 {
		facts = append(facts, fact{"settings", strings.Join(v.Overrides, "\n")})
	}
	if err := show(e, v, facts); err != nil {
		return err
	}
	if len(v.Failed) > 0 {
		e.hint("what can never be read may be waived: patra backfill waive %s --from … --to … --reason …", v.Name)
	}
	return e.hintStopped(ctx, app, []view.Campaign{v})
}

func plansText(v view.Campaign) string {
	of := fmt.Sprintf("%d open", len(v.Open))
	if v.Archived > 0 {
		of += fmt.Sprintf(" and %d archived", v.Archived)
	}
	return fmt.Sprintf("%d, of these %s; %s waiting, %d running", v.Plans, of, counted(v.Waiting, "task"), v.Running)
}

func stateText(c view.Campaign) string {
	text := fmt.Sprintf("%s since %s", c.State, when(c.Since))
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
	text := counted(len(c.Failed), "window") + ", tried again from " + when(c.NextRetry)
	for i, w := range c.Failed {
		if i == mostWindows {
			text += fmt.Sprintf("\n… and %d more (all of them with -o json)", len(c.Failed)-mostWindows)
			break
		}
		text += "\n" + brief(w)
	}
	return text
}

// newCampaignAct is a command that brings a campaign into a state.
func newCampaignAct(e *env, c *cobra.Command, do func(*daemon.App, context.Context, string, ingest.Act) (view.CampaignDone, error)) *cobra.Command {
	var a acting
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if a.reason == "" {
			return usagef("--reason is needed: whoever finds this later will ask for it")
		}
		return e.ledger(cmd.Context(), func(app *daemon.App) error {
			done, err := do(app, cmd.Context(), args[0], a.act())
			if err != nil {
				return err
			}
			return e.showCampaignDone(done)
		})
	}
	a.flags(c)
	return c
}

func newBackfillPause(e *env) *cobra.Command {
	return newCampaignAct(e, &cobra.Command{
		Use:   "pause NAME",
		Short: "Stop a campaign until it is resumed; others go on",
		Long: `Stop a campaign. Nothing of it is planned and no task of it is begun. Workers stop
after the page they are reading, and its tasks stay in the queue as they are. Other
campaigns and the harvest of the source go on. Pausing what is paused changes
nothing.`,
		Example: `  patra backfill pause history --reason quota
  patra backfill pause history --reason quota --dry-run -o json`,
	}, func(app *daemon.App, ctx context.Context, name string, by ingest.Act) (view.CampaignDone, error) {
		return app.Campaigns.Pause(ctx, name, by)
	})
}

func newBackfillResume(e *env) *cobra.Command {
	return newCampaignAct(e, &cobra.Command{
		Use:   "resume NAME",
		Short: "Go on with a campaign that was paused or cancelled",
		Long: `Let a campaign go on that was paused or cancelled. A process that serves works on it
by itself, and so does the command that began it. What was read is not read again.
One that is completed is refused with exit code 6.`,
		Example: `  patra backfill resume history --reason quota-is-back
  patra backfill resume history --reason quota-is-back --dry-run`,
	}, func(app *daemon.App, ctx context.Context, name string, by ingest.Act) (view.CampaignDone, error) {
		return app.Campaigns.Resume(ctx, name, by)
	})
}

func newBackfillCancel(e *env) *cobra.Command {
	return newCampaignAct(e, &cobra.Command{
		Use:   "cancel NAME",
		Short: "Give a campaign up; what it has not read stays owed",
		Long: `Give a campaign up. Its plans are cancelled: tasks that nobody works on at once,
others after the page their worker reads. What was read stays. What was not read
stays owed and shows as a gap. To take it back, resume it. Cancelling what is
cancelled changes nothing, and finishes a cancellation that was interrupted.`,
		Example: `  patra backfill cancel history --reason wrong-range --dry-run
  patra backfill cancel history --reason wrong-range`,
	}, func(app *daemon.App, ctx context.Context, name string, by ingest.Act) (view.CampaignDone, error) {
		return app.Campaigns.Cancel(ctx, name, by)
	})
}

func (e *env) showCampaignDone(d view.CampaignDone) error {
	if !d.Changed {
		e.hint("campaign %s was %s before", d.Name, d.State)
	}
	facts := []fact{{"campaign", d.Name}, {"state", string(d.State)}, {"since", d.Since}, {"by", d.Actor}, {"reason", wrapped(d.Reason)}}
	next := fmt.Sprintf("to go on: patra backfill resume %s --reason …", d.Name)
	switch d.State {
	case ingest.CampaignPaused:
		facts = append(facts, fact{"stopping", counted(d.Running, "task") + ", after the page that is read"}, fact{"waiting", counted(d.Waiting, "task")})
	case ingest.CampaignActive:
		facts = append(facts, fact{"waiting", counted(d.Waiting, "task")})
		next = fmt.Sprintf("`patra serve` works on it, or: patra backfill SRC --name %s", d.Name)
	case ingest.CampaignCancelled:
		var cancelled, stopping int
		for _, p := range d.Plans {
			cancelled, stopping = cancelled+p.Cancelled, stopping+p.Stopping
		}
		facts = append(facts, fact{"plans", len(d.Plans)}, fact{"cancelled", counted(cancelled, "slice")}, fact{"stopping", counted(stopping, "slice")})
		next = "what was not read stays owed. To take it back: patra backfill resume " + d.Name + " --reason …"
	}
	err := show(e, d, facts)
	e.afterDry(d.DryRun)
	e.hint("%s", next)
	return err
}
