package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/rategate"
)

// CampaignWish is a campaign as a person asks for it.
type CampaignWish = planner.Wish

// CampaignStand is how a campaign stands after it was looked at.
type CampaignStand = planner.Stand

// CampaignDraft is a campaign before it begins or goes on: what is left of it, as
// one plan.
type CampaignDraft struct {
	Campaign ingest.NewCampaign
	Left     *PlanDraft
	Empty    string // why there is nothing to do
}

// DraftCampaign draws what a campaign would read and writes nothing; without an
// app, as for an empty database.
func DraftCampaign(ctx context.Context, in Installed, a *App, c *spec.Compiled, w CampaignWish) (d CampaignDraft, err error) {
	parts, sizes := &planner.Campaigns{}, planner.Estimator(newEstimator(in.Guard().requestChain(rategate.New()), nil))
	if a != nil {
		parts = a.parts
	}
	var whole planner.Request
	if d.Campaign, whole, d.Empty, err = parts.Look(ctx, c, w); err != nil || d.Empty != "" {
		return d, err
	}
	whole.Forecast = true
	if a == nil {
		d.Left, err = planner.Rehearse(ctx, c, whole, sizes)
	} else {
		d.Left, err = a.Planner.Draft(ctx, c, whole)
	}
	return d, err
}

// OpenCampaign finds the campaign that is meant or begins it. Empty is why there is
// none.
func (a *App) OpenCampaign(ctx context.Context, c *spec.Compiled, w CampaignWish) (campaign ingest.Campaign, empty string, err error) {
	if err := a.MayRun(ctx, c.Snapshot); err != nil {
		return campaign, "", err
	}
	return a.parts.Open(ctx, c, w)
}

// CompileCampaign freezes the source of a campaign as it is now, under the settings
// the campaign was begun with and then those of this run.
func (a *App) CompileCampaign(ctx context.Context, c ingest.Campaign, more ...registry.Override) (*spec.Compiled, error) {
	var overrides []registry.Override
	for _, text := range c.Overrides {
		o, err := registry.ParseOverride(text)
		if err != nil {
			return nil, err
		}
		overrides = append(overrides, o)
	}
	return a.Compile(ctx, c.Dataset.Source, c.Dataset.Endpoint, ingest.Backfill, append(overrides, more...))
}

// CampaignPulse is how a campaign goes while it is worked on.
type CampaignPulse struct {
	view.CampaignProgress
	Read   int // items seen since this run began
	Stored int // of these, what changed a record
}

// CampaignRun is how a campaign is worked on. Nil functions are not called.
type CampaignRun struct {
	Now   func(context.Context) (time.Time, error) // what parts are planned for; nil: the store's clock
	Pulse func(CampaignPulse)
	// GiveUp hears of plans of the campaign that a changed source has outlived.
	GiveUp func(GivenUp)
	// RetryBefore: what failed before this instant is tried again, though its retry is
	// not due yet.
	RetryBefore time.Time
	// MaxRequests is how many requests may be spent on it; zero: as many as it takes.
	MaxRequests int
}

// Backfill works on a campaign until all of it is read, or what is left has to wait,
// or somebody stops it. Parts are planned while earlier ones are read.
func (a *App) Backfill(ctx context.Context, c *spec.Compiled, campaign ingest.Campaign, r CampaignRun) (CampaignStand, error) {
	if r.Now == nil {
		r.Now = a.store.Now
	}
	if err := a.beginCommand(ctx, campaign.Partition()); err != nil {
		return CampaignStand{}, err
	}
	given, err := a.giveUpOld(ctx, c, campaign.CursorID)
	if err != nil {
		return CampaignStand{}, err
	}
	for _, g := range given {
		if r.GiveUp != nil {
			r.GiveUp(g)
		}
	}
	defer a.tidyFolders(ctx)
	d := &campaignDesk{app: a, compiled: c, campaign: campaign, run: r, before: map[int64]ingest.RunStats{}}
	if ctx, err = d.limitRun(ctx); err != nil {
		return CampaignStand{}, err
	}
	if err := d.noteBefore(ctx); err != nil {
		return CampaignStand{}, err
	}
	if d.planParts(ctx); d.isOver() {
		return d.finalStand()
	}
	background, stop := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	helpers.Go(func() { d.repeatUntilOver(background, d.planParts) })
	if r.Pulse != nil {
		helpers.Go(func() { d.repeatUntilOver(background, d.reportProgress) })
	}
	err = a.workWhile(ctx, campaign.Partition(), 0, nil, func(context.Context) (bool, error) { return d.isOver(), nil }, d.isOver)
	stop()
	helpers.Wait()
	if r.Pulse != nil && err == nil {
		d.reportProgress(ctx)
	}
	stand, failed := d.finalStand()
	if err == nil {
		err = failed
	}
	return stand, a.orStopped(ctx, campaign.Partition(), err)
}

// campaignDesk plans the parts of one campaign while this process reads them.
type campaignDesk struct {
	app      *App
	compiled *spec.Compiled
	campaign ingest.Campaign
	run      CampaignRun
	before   map[int64]ingest.RunStats // of plans that were open when this run began
	limit    int64                     // of requests that this run may spend; zero: none

	mu    sync.Mutex
	stand CampaignStand
	plans map[int64]bool // that were open in this run
	err   error
	ended bool
}

// repeatUntilOver looks again and again until there is nothing to look at.
func (d *campaignDesk) repeatUntilOver(ctx context.Context, look func(context.Context)) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for !d.isOver() {
		look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// planParts plans what can be planned, and ends the run when nothing can.
func (d *campaignDesk) planParts(ctx context.Context) {
	stand, err := d.advanceCampaign(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if d.stand = stand; d.plans == nil {
		d.plans = map[int64]bool{}
	}
	for _, id := range stand.Open {
		d.plans[id] = true
	}
	if err != nil || stand.Idle() {
		d.ended, d.err = true, err
	}
}

func (d *campaignDesk) advanceCampaign(ctx context.Context) (stand CampaignStand, err error) {
	if err := d.app.notPaused(ctx, d.campaign.Partition()); err != nil {
		return stand, err
	}
	now, err := d.run.Now(ctx)
	if err != nil {
		return stand, err
	}
	if _, err := d.app.Planner.Reslice(ctx); err != nil { // it may be about another source
		d.app.config.Log.Warn("smaller slices were not stored; they are planned again", "error", err)
	}
	if err := d.checkSpent(ctx); err != nil {
		return stand, err
	}
	if stand, err = d.app.parts.AdvanceWith(ctx, d.compiled, d.campaign, now, planner.Going{RetryBefore: d.run.RetryBefore, LimitID: d.limit}); err != nil {
		return stand, err
	}
	if stand.State == ingest.CampaignActive || stand.State == ingest.CampaignCompleted {
		return stand, nil
	}
	stopped, _, err := d.app.store.Campaign(ctx, d.campaign.Name)
	if err == nil {
		err = stopped.Stopped()
	}
	return stand, err
}

// reportProgress reports how far the campaign has come.
func (d *campaignDesk) reportProgress(ctx context.Context) {
	p, err := d.app.store.CampaignProgress(ctx, d.campaign)
	if err != nil {
		return
	}
	d.mu.Lock()
	var plans []int64
	for id := range d.plans {
		plans = append(plans, id)
	}
	d.mu.Unlock()
	pulse := CampaignPulse{CampaignProgress: p}
	for _, id := range plans {
		stats, err := d.app.store.CampaignRecords(ctx, []int64{id})
		if err != nil {
			return
		}
		before := d.before[id] // nothing of a plan that this run made
		pulse.Read += stats.Seen - before.Seen
		pulse.Stored += stats.Stored() - before.Stored()
	}
	d.run.Pulse(pulse)
}

// noteBefore notes what plans of the campaign have read already, so that only what
// this run reads is counted, and all of it.
func (d *campaignDesk) noteBefore(ctx context.Context) error {
	shown, err := d.app.store.ShowCampaign(ctx, d.campaign)
	if err != nil {
		return err
	}
	d.stand.Open = shown.Open
	for _, id := range shown.Open {
		if d.before[id], err = d.app.store.CampaignRecords(ctx, []int64{id}); err != nil {
			return err
		}
	}
	return nil
}

func (d *campaignDesk) isOver() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended
}

func (d *campaignDesk) finalStand() (CampaignStand, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stand, d.err
}

// CheckCampaign says what is wrong with a wish, or why there is nothing to do, as
// for an empty database.
func CheckCampaign(ctx context.Context, c *spec.Compiled, w CampaignWish) (empty string, err error) {
	_, _, empty, err = (&planner.Campaigns{}).Look(ctx, c, w)
	return empty, err
}
