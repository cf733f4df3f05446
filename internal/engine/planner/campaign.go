package planner

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// CampaignStore is what campaigns need of the store besides what plans need.
type CampaignStore interface {
	OpenCampaign(ctx context.Context, in ingest.NewCampaign, by ingest.Act) (c ingest.Campaign, existed bool, err error)
	Campaign(ctx context.Context, name string) (c ingest.Campaign, known bool, err error)
	CampaignPlans(ctx context.Context, cursorID int64) (ever int, open []ingest.OpenPlan, err error)
	CompleteCampaign(ctx context.Context, id int64) (completed bool, err error)
}

// Campaigns plans BACKFILL campaigns, a part at a time, so that ten years do not
// stand in the queue (D§5.9).
type Campaigns struct {
	planner *Planner
	store   CampaignStore
}

// NewCampaigns plans campaigns by a planner.
func NewCampaigns(p *Planner, s CampaignStore) *Campaigns { return &Campaigns{p, s} }

// DefaultChunk is how much of a campaign is planned at once where nobody says.
const DefaultChunk = 30 * 24 * time.Hour

// Wish is a campaign as a person asks for it: by name, or by its range.
type Wish struct {
	Name     string // of a campaign that is known, or that is to be
	Typed    string // the range as it was written
	From, To *time.Time
	Now      time.Time
	// RetryBefore is as in Request.
	RetryBefore time.Time
	Order       ingest.CampaignOrder
	Chunk       time.Duration
	Overrides   []string
	By          ingest.Act
}

var campaignName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// NameOf is the name of the campaign that is meant. One without a name is called
// by its question and its range as typed: the same words again are the same
// campaign (D§5.8).
func (w Wish) NameOf(c *spec.Compiled) (string, error) {
	if w.Name != "" {
		if !campaignName.MatchString(w.Name) {
			return "", fmt.Errorf("%w: campaign name %q: use up to 64 letters, digits, dots, underscores and hyphens", fault.ErrInvalid, w.Name)
		}
		return w.Name, nil
	}
	n, err := namespaceOf(c, w.toRequest())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.50s-%.8s", c.Snapshot.Source, n.Key), nil
}

// toRequest returns the wish as a request for one plan.
func (w Wish) toRequest() Request {
	return Request{Now: w.Now, From: w.From, To: w.To, RetryBefore: w.RetryBefore, Campaign: w.Name, Typed: w.Typed}
}

// Open finds the campaign that is meant, or begins it. A range with nothing in it
// begins none and says why.
func (k *Campaigns) Open(ctx context.Context, c *spec.Compiled, w Wish) (campaign ingest.Campaign, empty string, err error) {
	in, empty, err := k.findOrDraw(ctx, c, w)
	if err != nil || empty != "" {
		return campaign, empty, err
	}
	if _, err := k.planner.checkNotAhead(ctx, w.Now); err != nil {
		return campaign, "", err
	}
	campaign, _, err = k.store.OpenCampaign(ctx, in, w.By)
	return campaign, "", err
}

// Look is Open for those who write nothing, and what is left of the range in one
// plan. Campaigns of the zero value look as for an empty database.
func (k *Campaigns) Look(ctx context.Context, c *spec.Compiled, w Wish) (in ingest.NewCampaign, whole Request, empty string, err error) {
	in, empty, err = k.findOrDraw(ctx, c, w)
	r := w.toRequest()
	r.From, r.To, r.Of = &in.Range.From, &in.Range.To, &Part{Namespace: in.Namespace, Order: in.Order}
	return in, r, empty, err
}

// findOrDraw returns the campaign that is meant, as it is stored or as it would begin.
func (k *Campaigns) findOrDraw(ctx context.Context, c *spec.Compiled, w Wish) (in ingest.NewCampaign, empty string, err error) {
	name, err := w.NameOf(c)
	if err != nil {
		return in, "", err
	}
	if k.store != nil {
		known, isKnown, err := k.store.Campaign(ctx, name)
		if err != nil {
			return in, "", err
		}
		if isKnown {
			in, err = w.mergeInto(known, c)
			return in, "", err
		}
	}
	if w.From == nil {
		return in, "", fmt.Errorf("%w: there is no campaign %s yet: say where it begins with --from", fault.ErrInvalid, name)
	}
	return k.drawCampaign(ctx, c, w, name)
}

// mergeInto returns a known campaign with the order and chunk that are wished for. It
// refuses another source, question or range: those stay what they are.
func (w Wish) mergeInto(known ingest.Campaign, c *spec.Compiled) (ingest.NewCampaign, error) {
	in := known.NewCampaign
	if w.Order != "" {
		in.Order = w.Order
	}
	if w.Chunk != 0 {
		in.Chunk = w.Chunk
	}
	if known.Dataset != c.Snapshot.Dataset() {
		return in, fmt.Errorf("%w: campaign %s is of %s/%s: choose another name", fault.ErrConflict, known.Name, known.Dataset.Source, known.Dataset.Endpoint)
	}
	if err := checkSameQuestion(known, c); err != nil {
		return in, err
	}
	same := func(asked *time.Time, has time.Time) bool { return asked == nil || asked.Equal(has) }
	if w.Typed != "" && w.Typed != known.Typed && !(same(w.From, known.Range.From) && same(w.To, known.Range.To)) {
		return in, fmt.Errorf("%w: campaign %s is for %s, asked for as %s: leave --from and --to out, or choose another name",
			fault.ErrConflict, known.Name, known.Range, known.Typed)
	}
	return in, known.Stopped()
}

// checkSameQuestion refuses to go on under another question: what was read under the
// old one would pass for an answer to the new one.
func checkSameQuestion(known ingest.Campaign, c *spec.Compiled) error {
	hash, err := questionHash(c)
	if err == nil && hash != known.ExprProtoHash {
		err = fmt.Errorf("%w: the source asks for something else than when campaign %s began: begin another one, and cancel this one", fault.ErrConflict, known.Name)
	}
	return err
}

// questionHash returns the hash of what the source asks for.
func questionHash(c *spec.Compiled) (string, error) {
	text, err := c.Prototype.Canonical()
	return fingerprint.Bytes(text), err
}

// drawCampaign fixes the range of a new campaign: aligned as the source wants it, and
// below the forward watermark as it stands now (W§4.2).
func (k *Campaigns) drawCampaign(ctx context.Context, c *spec.Compiled, w Wish, name string) (in ingest.NewCampaign, empty string, err error) {
	s := c.Snapshot
	op := newBackfill(c, w.toRequest())
	own, err := op.ownNamespace()
	if err != nil {
		return in, "", err
	}
	var inputs Inputs
	if k.store != nil {
		if inputs, err = k.planner.readOwnInputs(ctx, c, op); err != nil {
			return in, "", err
		}
	}
	total, err := window.Backfill(s.Window, window.BackfillInputs{Now: w.Now, UserFrom: w.From, UserTo: w.To, Forward: inputs.Forward})
	switch {
	case err != nil:
		return in, "", fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	case total.Empty:
		return in, total.Reason, nil
	}
	in = ingest.NewCampaign{
		Name: name, Dataset: s.Dataset(), Namespace: own, Range: total.Window, Typed: w.Typed, Order: w.Order, Chunk: w.Chunk, Overrides: w.Overrides,
		AsOf: total.NowSafe, Lookback: s.Window.Lookback.Std(),
	}
	if in.Order == "" {
		in.Order = ingest.NewestFirst
	}
	if in.Chunk == 0 {
		in.Chunk = DefaultChunk
	}
	in.ExprProtoHash, err = questionHash(c)
	return in, "", err
}

// Stand is how a campaign stands after it was looked at.
type Stand struct {
	State   ingest.CampaignState
	Open    []int64 // plans that have not ended
	Planned []int64 // those of them that are new
	Left    []window.Window
	Waiting []window.Window // of these, failed ones whose time has not come
	Reason  string          // why nothing was planned; empty: something was, or enough is open
	Held    bool            // what is wrong passes by itself: the queue is full
}

// Idle reports that nothing of the campaign is worked on, and nothing can be now.
func (s Stand) Idle() bool {
	return s.State != ingest.CampaignActive || len(s.Open) == 0 && !s.Held
}

// ahead is how many plans of a campaign are open at once: one that is read, one
// that waits so that no worker is idle, and one whose last slices wait for their
// retries.
const ahead = 3

// Advance goes on with a campaign: open plans are sliced on, and parts are planned
// until enough is open or the queue is full. When nothing is left the campaign is
// completed. Any number of processes may call it: a part is known by how many
// plans there were before it, so two who plan it at once find one plan (I8).
func (k *Campaigns) Advance(ctx context.Context, c *spec.Compiled, campaign ingest.Campaign, now time.Time) (Stand, error) {
	return k.AdvanceWith(ctx, c, campaign, now, Going{})
}

// Going is how a person goes on with a campaign.
type Going struct {
	RetryBefore time.Time // what failed before it is tried again, though its retry is not due yet
	LimitID     int64     // how many requests may be spent on parts that are planned; zero: as many as it takes
}

// AdvanceWith is Advance as a person asked for it.
func (k *Campaigns) AdvanceWith(ctx context.Context, c *spec.Compiled, campaign ingest.Campaign, now time.Time, how Going) (stand Stand, err error) {
	if err := checkSameQuestion(campaign, c); err != nil {
		return stand, err
	}
	for {
		var ever int
		if stand.State, ever, err = k.resumeOpenPlans(ctx, campaign, &stand); err != nil || stand.State != ingest.CampaignActive || len(stand.Open) >= ahead {
			return stand, err
		}
		if why, err := k.planner.Holds(ctx, campaign.Partition()); why != nil || err != nil {
			if stand.Held = why != nil; stand.Held {
				stand.Reason = why.Reason
			}
			return stand, err
		}
		planned, err := k.planNextPart(ctx, c, campaign, now, how, ever, &stand)
		if err != nil || planned == 0 {
			return stand, err
		}
		stand.Planned = append(stand.Planned, planned)
	}
}

// resumeOpenPlans reads the campaign as it is now, slices its open plans on, and returns
// its state and how many plans it has had.
func (k *Campaigns) resumeOpenPlans(ctx context.Context, campaign ingest.Campaign, stand *Stand) (ingest.CampaignState, int, error) {
	now, known, err := k.store.Campaign(ctx, campaign.Name)
	if err == nil && !known {
		err = fmt.Errorf("%w: campaign %s", fault.ErrNotFound, campaign.Name)
	}
	if err != nil {
		return "", 0, err
	}
	// The number before the list: see Advance.
	ever, open, err := k.store.CampaignPlans(ctx, campaign.CursorID)
	if err != nil {
		return now.State, ever, err
	}
	stand.Open = nil
	for _, o := range open {
		stand.Open = append(stand.Open, o.ID)
		if now.State == ingest.CampaignActive && o.Status != ingest.PlanReady {
			if _, err := k.planner.Resume(ctx, campaign.Partition(), o); err != nil {
				return now.State, ever, err
			}
		}
	}
	return now.State, ever, nil
}

// planNextPart stores the next part and returns its plan; zero: there is none.
func (k *Campaigns) planNextPart(ctx context.Context, c *spec.Compiled, campaign ingest.Campaign, now time.Time, how Going, ever int, stand *Stand) (int64, error) {
	_, open, err := k.store.CampaignPlans(ctx, campaign.CursorID)
	if err != nil {
		return 0, err
	}
	r := partRequest(campaign, open, now)
	r.RetryBefore, r.LimitID = how.RetryBefore, how.LimitID
	op := newBackfill(c, r)
	inputs, err := k.planner.readOwnInputs(ctx, c, op)
	if err != nil {
		return 0, err
	}
	total, err := op.leftWindow(inputs)
	if err != nil {
		return 0, err
	}
	stand.Left, stand.Waiting = coverage.Gaps(inputs.Own.Segments, campaign.Range), total.Waiting
	if stand.Reason = ""; total.Empty || len(total.Owed) == 0 {
		stand.Reason = total.Reason
		if len(stand.Left) == 0 && len(open) == 0 {
			return 0, k.completeCampaign(ctx, campaign, stand)
		}
		return 0, nil
	}
	stored, err := k.storePart(ctx, c, campaign, r, ever)
	if err == nil && slices.Contains(stand.Open, stored.ID) {
		return 0, nil
	}
	return stored.ID, err
}

// storePart stores a part under the first number that is free, from the count on. Plans
// leave the database for files, and the count falls with them; a number that an
// ended plan has is used up, and whoever plans at the same moment passes it too.
func (k *Campaigns) storePart(ctx context.Context, c *spec.Compiled, campaign ingest.Campaign, r Request, number int) (ingest.Plan, error) {
	for ; ; number++ {
		r.TriggerKey = partKey(campaign, number)
		stored, d, err := k.planner.Plan(ctx, c, r)
		var gone ingest.PlanArchived
		if errors.As(err, &gone) || err == nil && !d.Empty && !stored.Status.TakesSlices() && stored.Status != ingest.PlanReady {
			continue
		}
		return stored, err
	}
}

// partKey returns the trigger key of a part.
func partKey(c ingest.Campaign, number int) string {
	return fmt.Sprintf("campaign/%s/%d", c.Name, number)
}

// completeCampaign ends a campaign of which nothing is left.
func (k *Campaigns) completeCampaign(ctx context.Context, campaign ingest.Campaign, stand *Stand) error {
	completed, err := k.store.CompleteCampaign(ctx, campaign.ID)
	if completed {
		stand.State = ingest.CampaignCompleted
	}
	return err
}

// partRequest returns the request for the next part, without what open plans read.
func partRequest(c ingest.Campaign, open []ingest.OpenPlan, now time.Time) Request {
	part := &Part{Namespace: c.Namespace, Chunk: c.Chunk, Order: c.Order}
	for _, o := range open {
		part.Taken = append(part.Taken, o.Owed...)
	}
	return Request{
		Now: now, From: &c.Range.From, To: &c.Range.To, Of: part,
		Scheduler: scheduler, Type: ingest.TriggerManual,
	}
}

// scheduler is our own (ing_scheduler): parts are planned by whichever process comes first.
const scheduler = ingest.SchedulerInternal
