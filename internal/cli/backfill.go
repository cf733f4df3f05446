package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// backfilling are the flags of a campaign.
type backfilling struct {
	request
	work
	name, order, chunk string
	detach             bool
}

func newBackfill(e *env) *cobra.Command {
	b := &backfilling{request: request{env: e, operation: string(ingest.Backfill)}}
	c := &cobra.Command{
		Use:   "backfill SRC",
		Short: "Fill history part by part, resumable at any time",
		Long: `Read a range of the past: a campaign. It has a watermark of its own, ends where that
of the harvest stands, never moves that one, and gives way to everything else. Its
range is fixed when it begins. It is planned part by part (--chunk), the newest part
first, so that ten years do not stand in the queue.

The same command again goes on: by --name, or by the same --from and --to as typed.
What was read is not read again. Ctrl-C is safe at any moment; ` + "`patra serve`" + ` goes on
with every campaign by itself, and --detach leaves it to that.

Exit code 3: windows failed or items were quarantined. 6: the campaign or its source
is paused, or the campaign was cancelled.`,
		Example: `  patra backfill crossref --from 2015-01-01 --to 2025-01-01 --dry-run
  patra backfill crossref --from 2015-01-01 --to 2025-01-01 --name history
  patra backfill crossref --name history
  patra backfill crossref --from 2020-01-01 --order oldest --chunk 7d --detach`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if b.dry {
				return e.rehearseBackfill(cmd.Context(), args[0], b)
			}
			return e.backfill(cmd.Context(), args[0], b)
		},
	}
	b.request.flags(c)
	b.work.flags(c)
	c.Flags().StringVar(&b.name, "name", "", "name of the campaign (default: made from the source and the range)")
	c.Flags().StringVar(&b.order, "order", "", "which end is read first: newest or oldest (default newest)")
	c.Flags().StringVar(&b.chunk, "chunk", "", "how much of the range is planned at once (default 30d)")
	c.Flags().BoolVar(&b.detach, "detach", false, "begin the campaign and leave the work to patra serve")
	c.AddCommand(newBackfillList(e), newBackfillShow(e), newBackfillPause(e), newBackfillResume(e), newBackfillCancel(e), newBackfillWaive(e))
	return c
}

// wish reads the flags.
func (b *backfilling) wish(p parsed) (w daemon.CampaignWish, err error) {
	w = daemon.CampaignWish{Name: b.name, From: p.from, To: p.to, Now: p.now, RetryBefore: p.retryBefore, Overrides: b.set, By: ingest.Act{Actor: systemUser()}}
	if b.from != "" || b.to != "" {
		w.Typed = b.from + ".." + b.to
	}
	switch strings.ToLower(b.order) {
	case "":
	case "newest":
		w.Order = ingest.NewestFirst
	case "oldest":
		w.Order = ingest.OldestFirst
	default:
		return w, usagef("--order %q: expected newest or oldest", b.order)
	}
	if b.chunk != "" {
		if w.Chunk, err = parseStretch(b.chunk); err != nil {
			return w, usagef("--chunk: %v", err)
		}
		if w.Chunk < minChunk {
			return w, usagef("--chunk %s is too short: at least %s", b.chunk, minChunk)
		}
	}
	if w.Name == "" && w.Typed == "" {
		return w, usagef("say what to fill with --from, or name a campaign with --name: patra backfill list")
	}
	return w, nil
}

// minChunk: below this planning would cost more than reading.
const minChunk = time.Hour

// meant understands the flags and freezes the source. A campaign that is known
// keeps the settings it began with; those of this run come after them.
func (e *env) meant(ctx context.Context, app *daemon.App, code string, b *backfilling) (w daemon.CampaignWish, c *spec.Compiled, err error) {
	p, err := b.parse(time.Now())
	if err == nil && app != nil {
		p, err = b.parseAt(ctx, app)
	}
	if err != nil {
		return w, nil, err
	}
	if w, err = b.wish(p); err != nil {
		return w, nil, err
	}
	if c, err = b.compile(ctx, app, code, p); err != nil || app == nil {
		return w, c, err
	}
	name, err := w.NameOf(c)
	if err != nil {
		return w, nil, err
	}
	known, is, err := app.Campaigns.Find(ctx, name)
	if err != nil || !is || known.Dataset != c.Snapshot.Dataset() {
		return w, c, err
	}
	c, err = app.CompileCampaign(ctx, known, p.overrides...)
	return w, c, err
}

// campaignDraft is what a rehearsal shows.
type campaignDraft struct {
	Name    string               `json:"name"`
	Range   *window.Window       `json:"range"`
	Order   ingest.CampaignOrder `json:"order"`
	Chunk   string               `json:"chunk"`
	Parts   int                  `json:"parts"`
	Covered []window.Window      `json:"covered"` // of the range: read or waived before, by whomever
	Reason  string               `json:"reason,omitempty"`
	Left    *daemon.PlanDraft    `json:"left,omitempty"`
}

func (e *env) rehearseBackfill(ctx context.Context, code string, b *backfilling) error {
	app, err := e.look(ctx)
	if err != nil && !daemon.IsMissing(err) {
		return err
	}
	if err == nil {
		defer app.Close()
	} else {
		app = nil
	}
	w, compiled, err := e.meant(ctx, app, code, b)
	if err != nil {
		return err
	}
	counting, planned := e.hintCounting(ctx, code, "; Ctrl-C is safe")
	d, err := daemon.DraftCampaign(counting, e.installed, app, compiled, w)
	planned()
	if err != nil {
		return err
	}
	if d.Empty != "" {
		return e.nothing(code, d.Empty)
	}
	out := campaignDraft{Name: d.Campaign.Name, Order: d.Campaign.Order, Chunk: brieflyOf(d.Campaign.Chunk), Left: d.Left}
	out.Range, out.Parts = &d.Campaign.Range, partsOf(d)
	var covered []window.Window
	if app != nil { // without a database nothing was read
		if covered, err = app.Inspect.Covered(ctx, compiled, d.Campaign.Range); err != nil {
			return err
		}
	}
	out.Covered = append([]window.Window{}, covered...)
	if err := show(e, out, []fact{
		{"campaign", out.Name},
		{"range", d.Campaign.Range.String()},
		{"order", strings.ToLower(string(out.Order)) + " first"},
		{"covered", coveredText(covered, d.Campaign.Range)},
		{"parts", fmt.Sprintf("%d, of up to %s", out.Parts, out.Chunk)},
		{"left", d.Left.Summary()},
	}); err != nil || e.output == "json" {
		return err
	}
	for _, line := range outlook(d.Left) {
		fmt.Fprintf(e.out, "  %s\n", line)
	}
	e.warn(d.Left.Warnings)
	e.hintCovered(readAgain(d.Left.Owed(), covered), d.Campaign.Range, code)
	e.afterDry(true)
	return nil
}

// partsOf is how many plans what is left will be cut into.
func partsOf(d daemon.CampaignDraft) int {
	if d.Left == nil || d.Left.Empty {
		return 0
	}
	var left []window.Window
	for _, s := range d.Left.Slices {
		left = append(left, window.Window{From: s.From, To: s.To})
	}
	return inspect.PartsOf(left, d.Campaign.Chunk)
}

// backfill rehearses first: bad input leaves no file.
func (e *env) backfill(ctx context.Context, code string, b *backfilling) error {
	config := daemon.Config{Database: e.database, Installed: e.installed, Log: e.logger(), Warn: e.warnOnce}
	if err := b.work.apply(&config); err != nil {
		return err
	}
	empty, err := e.checkBackfill(ctx, code, b)
	switch {
	case err != nil:
		return err
	case empty != "":
		return e.nothing(code, empty)
	}
	app, err := daemon.Open(ctx, config)
	if err != nil {
		return err
	}
	defer app.Close()
	e.notice(app)
	w, compiled, err := e.meant(ctx, app, code, b)
	if err != nil {
		return err
	}
	if err := e.agreedFor(ctx, app, compiled.Snapshot); err != nil {
		return err
	}
	e.warn(compiled.Warnings)
	e.hintSettings(ctx, app, compiled)
	campaign, empty, err := app.OpenCampaign(ctx, compiled, w)
	switch {
	case err != nil:
		return err
	case empty != "":
		return e.nothing(code, empty)
	}
	e.hintCeiling(campaign, w)
	if b.detach {
		e.hint("campaign %s has begun. `patra serve` works on it; to see how far it is: patra backfill show %s", campaign.Name, campaign.Name)
		return e.showCampaign(ctx, app, campaign.Name)
	}
	return e.runCampaign(ctx, app, compiled, campaign, b)
}

// checkBackfill looks at the input where there is no database yet; where there is
// one, what is wrong is found before anything is written.
func (e *env) checkBackfill(ctx context.Context, code string, b *backfilling) (empty string, err error) {
	app, err := e.look(ctx)
	if err == nil {
		return "", app.Close()
	}
	if !daemon.IsMissing(err) {
		return "", err
	}
	w, compiled, err := e.meant(ctx, nil, code, b)
	if err != nil {
		return "", err
	}
	if err := e.agreedFor(ctx, nil, compiled.Snapshot); err != nil {
		return "", err
	}
	return daemon.CheckCampaign(ctx, compiled, w)
}

func (e *env) nothing(code, why string) error {
	if e.output == "json" {
		return e.json(campaignDraft{Covered: []window.Window{}, Reason: why})
	}
	_, err := fmt.Fprintf(e.out, "%s: nothing to do: %s\n", code, why)
	return err
}

// hintCeiling says when a range ends earlier than it was asked for.
func (e *env) hintCeiling(c ingest.Campaign, w daemon.CampaignWish) {
	if w.To != nil && c.Range.To.Before(*w.To) {
		e.hint("the range ends at %s, not at --to: what lies after it is the harvest's", window.Text(c.Range.To))
	}
}

func (e *env) runCampaign(ctx context.Context, app *daemon.App, compiled *spec.Compiled, campaign ingest.Campaign, b *backfilling) error {
	before, err := app.Campaigns.Show(ctx, campaign)
	if err != nil {
		return err
	}
	if campaign.State == ingest.CampaignCompleted {
		e.hint("campaign %s was completed before: nothing is left to read", campaign.Name)
		return e.showCampaign(ctx, app, campaign.Name)
	}
	if before.Percent > 0 {
		e.hint("campaign %s goes on at %.1f %%", campaign.Name, before.Percent)
	}
	bar := newCampaignBar(e, campaign.Name)
	still := newStall(func() string { return standstillOf(ctx, app, campaign.Partition()) }, bar.note)
	over := newRestarts(bar.note)
	run := daemon.CampaignRun{Pulse: func(p daemon.CampaignPulse) {
		bar.update(p)
		over.lookOpen(ctx, app, campaign.Dataset.Source, time.Now())
		still.look(time.Now(), fmt.Sprint(p.Done, p.Read))
	}, GiveUp: func(g daemon.GivenUp) { bar.note("%s", givingUp(g)) }}
	if b.retry {
		if run.RetryBefore, err = app.Now(ctx); err != nil {
			return err
		}
	}
	if b.now != "" {
		run.Now = func(ctx context.Context) (time.Time, error) {
			p, err := b.parseAt(ctx, app)
			return p.now, err
		}
	}
	stand, err := app.Backfill(ctx, compiled, campaign, run)
	bar.stop()
	if err != nil {
		e.hintGoOn(ctx, app, campaign, err)
		return err
	}
	if err := e.showCampaign(ctx, app, campaign.Name); err != nil {
		return err
	}
	after, err := app.Campaigns.Show(ctx, campaign)
	if err != nil {
		return err
	}
	return campaignVerdict(campaign, stand, before, after)
}

// lastLook is how long an interrupted command may still ask how far it came.
const lastLook = 2 * time.Second

// hintGoOn says after an interruption how to go on.
func (e *env) hintGoOn(ctx context.Context, app *daemon.App, c ingest.Campaign, err error) {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.Cause(ctx)) {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	at := ""
	if p, err := app.Campaigns.MeasureProgress(last, c); err == nil {
		at = fmt.Sprintf(" stands at %.1f %% and", p.Percent)
	}
	e.hint("campaign %s%s goes on with: patra backfill %s --name %s", c.Name, at, c.Dataset.Source, c.Name)
}

// campaignVerdict makes an honest exit code (D§5.16).
func campaignVerdict(c ingest.Campaign, stand daemon.CampaignStand, before, after view.Campaign) error {
	switch v := inspect.CampaignVerdict(stand.State, stand.Reason, before, after); v.Code {
	case view.NotCovered:
		return partial("%s failed and stay owed; from %s on they are tried again by `patra backfill %s --name %s` or `patra serve`, now with --retry",
			counted(v.Count, "window"), when(v.Retry), c.Dataset.Source, c.Name)
	case view.Incomplete:
		return partial("campaign %s is not complete: %s", c.Name, v.Reason)
	case view.ItemsRejected:
		return setAside(v.Count, c.Dataset.Source)
	}
	return nil
}
