package work

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/consent"
	"github.com/patra-ingest/patra/internal/cli/reason"
	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// backfilling are the flags of a campaign.
type backfilling struct {
	Request
	Settings
	name, order, chunk string
	partition          string
	detach             bool
	measured           metricsFile
}

func NewBackfill(e *term.Env) *cobra.Command {
	b := &backfilling{Request: Request{Env: e, Operation: string(ingest.Backfill)}}
	c := &cobra.Command{
		Use:   "backfill SRC",
		Short: "Fill history part by part, resumable at any time",
		Long: `Read a range of the past, as a campaign. A campaign has a watermark of its own. It
ends where the watermark of the harvest stands, never moves that one, and all other
work goes first. Its range is fixed when it begins. It is planned part by part
(--chunk), the newest part first, so that ten years do not fill the queue.

To continue a campaign, repeat the command with its --name, or with --from and --to
typed as before. What was read is not read again. Ctrl-C is safe at any moment.
` + "`patra serve`" + ` continues campaigns automatically; --detach leaves the work to it.

If the source asks for its list in parts (partitions), --partition reads one of them.
The harvest asks for all parts, so this fills no gap of the harvest. To fill such a
gap, also of one part, use ` + "`patra coverage fill`" + `.

With --max-requests N it ends after N requests; if something is left, the exit code
is 3, and the same command continues. With --metrics-file it writes what it counted
as metrics at the end, also if it failed: see docs/metrics.md.
Exit code 3: windows failed or items were quarantined. 6: the campaign or its source
is paused, or the campaign was cancelled.`,
		Example: `  patra backfill crossref --from 2015-01-01 --to 2025-01-01 --dry-run
  patra backfill crossref --from 2015-01-01 --to 2025-01-01 --name history
  patra backfill crossref --name history
  patra backfill arxiv --from 2020-01-01 --to 2021-01-01 --partition set=cs
  patra backfill crossref --from 2020-01-01 --order oldest --chunk 7d --detach`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if b.dry {
				return rehearseBackfill(cmd.Context(), e, args[0], b)
			}
			return runBackfill(cmd.Context(), e, args[0], b)
		},
	}
	b.Request.addFlags(c)
	b.Request.addLimitFlag(c)
	b.Settings.Flags(c)
	c.Flags().StringVar(&b.name, "name", "", "name of the campaign (default: made from the source and the range)")
	c.Flags().StringVar(&b.partition, "partition", "", "read only this part of a list that is asked for in parts, such as set=cs")
	c.Flags().StringVar(&b.order, "order", "", "which end is read first: newest or oldest (default newest)")
	c.Flags().StringVar(&b.chunk, "chunk", "", "how much of the range is planned at once (default 30d)")
	c.Flags().BoolVar(&b.detach, "detach", false, "begin the campaign and leave the work to patra serve")
	c.MarkFlagsMutuallyExclusive("detach", "max-requests") // detached, it spends nothing
	b.measured.addFlag(c)
	c.AddCommand(newBackfillList(e), newBackfillShow(e), newBackfillPause(e), newBackfillResume(e), newBackfillCancel(e), newBackfillWaive(e))
	return c
}

// parseWish reads the flags.
func (b *backfilling) parseWish(p Parsed) (w daemon.CampaignWish, err error) {
	settings, err := b.readSettings()
	if err != nil {
		return w, err
	}
	w = daemon.CampaignWish{Name: b.name, From: p.from, To: p.to, Now: p.Now, RetryBefore: p.retryBefore, Overrides: settings, By: ingest.Act{Actor: term.SystemUser()}}
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
		return w, term.Usagef("--order %q: expected newest or oldest", b.order)
	}
	if b.chunk != "" {
		if w.Chunk, err = term.ParseDuration(b.chunk); err != nil {
			return w, term.Usagef("--chunk: %v", err)
		}
		if w.Chunk < minChunk {
			return w, term.Usagef("--chunk %s is too short: at least %s", b.chunk, minChunk)
		}
	}
	if w.Name == "" && w.Typed == "" {
		return w, term.Usagef("say what to fill with --from, or name a campaign with --name: patra backfill list")
	}
	return w, nil
}

// choosePartition makes the part of a list that is wanted a setting of the campaign, which keeps it.
func (b *backfilling) choosePartition(ctx context.Context, app *daemon.App, code string) error {
	if b.partition == "" {
		return nil
	}
	c, err := compileFor(ctx, b.Env, app, code, b.endpoint, ingest.Backfill, nil)
	if err != nil {
		return err
	}
	set, err := sector.Settings(c.Snapshot.Partitions, b.partition)
	if err != nil {
		return term.Usagef("--partition: %w", err)
	}
	b.Set, b.partition = append(b.Set, set...), ""
	return nil
}

// minChunk: below this planning would cost more than reading.
const minChunk = time.Hour

// understandBackfill understands the flags and freezes the source. A campaign that is known
// keeps the settings it began with; those of this run come after them.
func understandBackfill(ctx context.Context, e *term.Env, app *daemon.App, code string, b *backfilling) (w daemon.CampaignWish, c *spec.Compiled, err error) {
	if err = b.choosePartition(ctx, app, code); err != nil {
		return w, nil, err
	}
	p, err := b.parseFlags(time.Now())
	if err == nil && app != nil {
		p, err = b.parseAt(ctx, app)
	}
	if err != nil {
		return w, nil, err
	}
	if w, err = b.parseWish(p); err != nil {
		return w, nil, err
	}
	if c, err = b.compileSource(ctx, app, code, p); err != nil || app == nil {
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

func rehearseBackfill(ctx context.Context, e *term.Env, code string, b *backfilling) error {
	app, err := e.OpenToRead(ctx)
	if err != nil && !daemon.IsMissing(err) {
		return err
	}
	if err == nil {
		defer app.Close()
	} else {
		app = nil
	}
	w, compiled, err := understandBackfill(ctx, e, app, code, b)
	if err != nil {
		return err
	}
	counting, planned := hintCounting(ctx, e, code, "; Ctrl-C is safe")
	d, err := daemon.DraftCampaign(counting, e.Installed, app, compiled, w)
	planned()
	if err != nil {
		return err
	}
	if d.Empty != "" {
		return printNothing(e, code, d.Empty)
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
	if err := term.PrintFacts(e, out, []term.Fact{
		{"campaign", out.Name},
		{"range", d.Campaign.Range.String()},
		{"order", strings.ToLower(string(out.Order)) + " first"},
		{"covered", coveredText(covered, d.Campaign.Range)},
		{"parts", fmt.Sprintf("%d, of up to %s", out.Parts, out.Chunk)},
		{"left", d.Left.Summary()},
	}); err != nil || e.Output == "json" {
		return err
	}
	for _, line := range outlookLines(d.Left) {
		fmt.Fprintf(e.Out, "  %s\n", line)
	}
	subject.Warn(e, d.Left.Warnings)
	hintCovered(e, readAgain(d.Left.Owed(), covered), d.Campaign.Range, code)
	e.HintDryRun(true)
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

// runBackfill rehearses first: bad input leaves no file.
func runBackfill(ctx context.Context, e *term.Env, code string, b *backfilling) (err error) {
	config := daemon.Config{Database: e.Database, Installed: e.Installed, Log: e.Logger(), Warn: e.WarnOnce}
	if err := errors.Join(b.Settings.Apply(&config), b.measured.prepare(&config)); err != nil {
		return err
	}
	empty, err := checkBackfill(ctx, e, code, b)
	switch {
	case err != nil:
		return err
	case empty != "":
		return printNothing(e, code, empty)
	}
	defer config.TraceTo(ctx, term.Version)()
	app, err := daemon.Open(ctx, config)
	if err != nil {
		return err
	}
	defer app.Close()
	defer func() {
		if failed := b.measured.writeMetrics(ctx, app, code, ingest.Backfill); failed != nil {
			err = errors.Join(err, failed)
		}
	}()
	HintNewAndRaw(e, app)
	w, compiled, err := understandBackfill(ctx, e, app, code, b)
	if err == nil {
		err = consent.CheckFor(ctx, e, app, compiled.Snapshot)
	}
	if err != nil {
		return b.noteRefused(ctx, e, app, code, err)
	}
	subject.Warn(e, compiled.Warnings)
	hintSettings(ctx, e, app, compiled)
	campaign, empty, err := app.OpenCampaign(ctx, compiled, w)
	switch {
	case err != nil:
		return err
	case empty != "":
		return printNothing(e, code, empty)
	}
	hintCeiling(e, campaign, w)
	if b.detach {
		e.Hint("campaign %s has begun. `patra serve` works on it; to see how far it is: patra backfill show %s", campaign.Name, campaign.Name)
		return showCampaign(ctx, e, app, campaign.Name)
	}
	return runCampaign(ctx, e, app, compiled, campaign, b)
}

// checkBackfill looks at the input where there is no database yet; where there is
// one, what is wrong is found before anything is written.
func checkBackfill(ctx context.Context, e *term.Env, code string, b *backfilling) (empty string, err error) {
	app, err := e.OpenToRead(ctx)
	if err == nil {
		return "", app.Close()
	}
	if !daemon.IsMissing(err) {
		return "", err
	}
	w, compiled, err := understandBackfill(ctx, e, nil, code, b)
	if err != nil {
		return "", err
	}
	if err := consent.CheckFor(ctx, e, nil, compiled.Snapshot); err != nil {
		return "", err
	}
	return daemon.CheckCampaign(ctx, compiled, w)
}

func printNothing(e *term.Env, code, why string) error {
	if e.Output == "json" {
		return e.JSON(campaignDraft{Covered: []window.Window{}, Reason: why})
	}
	_, err := fmt.Fprintf(e.Out, "%s: nothing to do: %s\n", code, why)
	return err
}

// hintCeiling says when a range ends earlier than it was asked for.
func hintCeiling(e *term.Env, c ingest.Campaign, w daemon.CampaignWish) {
	if w.To != nil && c.Range.To.Before(*w.To) {
		e.Hint("the range ends at %s, not at --to: what lies after it is the harvest's", window.Text(c.Range.To))
	}
}

func runCampaign(ctx context.Context, e *term.Env, app *daemon.App, compiled *spec.Compiled, campaign ingest.Campaign, b *backfilling) error {
	before, err := app.Campaigns.Show(ctx, campaign)
	if err != nil {
		return err
	}
	if campaign.State == ingest.CampaignCompleted {
		e.Hint("campaign %s was completed before: nothing is left to read", campaign.Name)
		return showCampaign(ctx, e, app, campaign.Name)
	}
	if before.Percent > 0 {
		e.Hint("campaign %s goes on at %.1f %%", campaign.Name, before.Percent)
	}
	bar := newCampaignBar(e, campaign.Name)
	still := reason.NewStallHint(func() string { return reason.StandstillOf(ctx, app, campaign.Partition()) }, bar.Note)
	over := reason.NewRestartHint(bar.Note)
	run := daemon.CampaignRun{Pulse: func(p daemon.CampaignPulse) {
		bar.update(p)
		over.LookAtOpen(ctx, app, campaign.Dataset.Source, time.Now())
		still.Look(time.Now(), fmt.Sprint(p.Done, p.Read))
	}, GiveUp: func(g daemon.GivenUp) { bar.Note("%s", givingUp(g)) }}
	run.MaxRequests = b.maxRequests
	if b.retry {
		if run.RetryBefore, err = app.Now(ctx); err != nil {
			return err
		}
	}
	if b.now != "" {
		run.Now = func(ctx context.Context) (time.Time, error) {
			p, err := b.parseAt(ctx, app)
			return p.Now, err
		}
	}
	stand, err := app.Backfill(ctx, compiled, campaign, run)
	bar.stop()
	if err != nil {
		hintGoOn(ctx, e, app, campaign, err)
		return err
	}
	if err := showCampaign(ctx, e, app, campaign.Name); err != nil {
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
func hintGoOn(ctx context.Context, e *term.Env, app *daemon.App, c ingest.Campaign, err error) {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.Cause(ctx)) {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	at := ""
	if p, err := app.Campaigns.MeasureProgress(last, c); err == nil {
		at = fmt.Sprintf(" stands at %.1f %% and", p.Percent)
	}
	e.Hint("campaign %s%s goes on with: patra backfill %s --name %s", c.Name, at, c.Dataset.Source, c.Name)
}

// campaignVerdict makes an honest exit code (D§5.16).
func campaignVerdict(c ingest.Campaign, stand daemon.CampaignStand, before, after view.Campaign) error {
	switch v := inspect.CampaignVerdict(stand.State, stand.Reason, before, after); v.Code {
	case view.NotCovered:
		return term.Partialf("%s failed and stay owed; from %s on they are tried again by `patra backfill %s --name %s` or `patra serve`; add --retry to try them now",
			wording.Count(v.Count, "window"), wording.SecondText(v.Retry), c.Dataset.Source, c.Name)
	case view.Incomplete:
		return term.Partialf("campaign %s is not complete: %s", c.Name, v.Reason)
	case view.ItemsRejected:
		return setAside(v.Count, c.Dataset.Source)
	}
	return nil
}
