// Package planner turns a trigger into a plan: it compiles the snapshot, asks
// coverage what is owed, cuts slices and stores them with their tasks.
//
// Before it on the path of a record stands the registry, after it dispatch. It
// never talks to an upstream itself, and never moves a cursor.
package planner

import (
	"context"
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Planner stores plans.
type Planner struct {
	store Store
	// Estimator tells sizes; without one slices are cut by length alone.
	Estimator Estimator
	// MaxStock is how many tasks of a partition may wait before slicing pauses;
	// zero is no limit (D§5.4).
	MaxStock int
	// Settling is how long the transaction that stores a parent may take; zero: slicing.Settling.
	Settling time.Duration
	// Spans records what goes on with plans whose trigger is long gone; nil: nobody does.
	Spans span.Recorder
}

// New makes a planner.
func New(s Store) *Planner { return &Planner{store: s} }

// chunk is how many slices one transaction stores (D§5.4).
const chunk = 1000

// Draft draws a plan against what is stored and writes nothing.
func (p *Planner) Draft(ctx context.Context, c *spec.Compiled, r Request) (*Draft, error) {
	b, err := p.readAllInputs(ctx, c, r)
	if err != nil {
		return nil, err
	}
	if err := p.checkDraftClock(ctx, c, r.Now, b.Own); err != nil {
		return nil, err
	}
	d, err := p.drawSized(ctx, c, b, r)
	return d.answerOrNil(), err
}

// Unsized draws a plan as Draft does but asks nobody for sizes: its window and what
// it owes are the same, only its slices may differ.
func (p *Planner) Unsized(ctx context.Context, c *spec.Compiled, r Request) (*Draft, error) {
	b, err := p.readAllInputs(ctx, c, r)
	if err != nil {
		return nil, err
	}
	d, err := drawPlan(c, b, r)
	return d.answerOrNil(), err
}

// readAllInputs reads what a draft is drawn against.
func (p *Planner) readAllInputs(ctx context.Context, c *spec.Compiled, r Request) (b Inputs, err error) {
	op, err := operationOf(c, r)
	if err != nil {
		return b, err
	}
	if _, err := op.totalWindow(Inputs{}); err != nil {
		return b, err // bad input is refused before anything is read
	}
	if b, err = p.readOwnInputs(ctx, c, op); err != nil {
		return b, err
	}
	if b.ItemBytes, err = p.store.BytesPerItem(ctx, c.Snapshot.Dataset()); err != nil {
		return b, err
	}
	if b.Uses, err = p.readQuotaUses(ctx, c.Snapshot); err != nil {
		return b, err
	}
	return b, nil
}

// readOwnInputs reads what the window of an operation depends on.
func (p *Planner) readOwnInputs(ctx context.Context, c *spec.Compiled, op operation) (b Inputs, err error) {
	own, err := op.ownNamespace()
	if err != nil {
		return b, err
	}
	// What is known of parents is read first. A reading that ends meanwhile then lets too many be asked for, and never too few.
	if b.Parents, err = p.readParents(ctx, c.Snapshot, own); err != nil {
		return b, err
	}
	if b.Own, b.Known, err = p.store.CoverageState(ctx, own); err != nil {
		return b, err
	}
	if c.Snapshot.NarrowsSectors() {
		if b.Lags, err = p.store.SectorLags(ctx, own); err != nil {
			return b, err
		}
		if b.Refused, err = p.store.SectorRefusals(ctx, own); err != nil {
			return b, err
		}
	}
	if err := p.readLaggingParents(ctx, c.Snapshot, own, &b); err != nil {
		return b, err
	}
	if b.CauseChanged, err = p.store.CauseChanged(ctx, ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: c.Snapshot.Operation}); err != nil {
		return b, err
	}
	err = op.readInputs(ctx, p.store, own, &b)
	return b, err
}

// Plan draws a plan and stores it with its slices and tasks. A trigger that has
// its plan already gets that one, completed if its planner died (I8).
func (p *Planner) Plan(ctx context.Context, c *spec.Compiled, r Request) (plan ingest.Plan, draft *Draft, err error) {
	ctx, end := p.withinTrigger(ctx)
	defer func() { end(err) }()
	return p.planTraced(ctx, c, r)
}

// planTraced does so within the span of its trigger.
func (p *Planner) planTraced(ctx context.Context, c *spec.Compiled, r Request) (ingest.Plan, *Draft, error) {
	b, err := p.readAllInputs(ctx, c, r)
	if err != nil {
		return ingest.Plan{}, nil, err
	}
	if err := p.checkClock(ctx, c, r.Now, b.Own); err != nil {
		return ingest.Plan{}, nil, err
	}
	d, err := p.drawSized(ctx, c, b, r)
	if err != nil {
		return ingest.Plan{}, nil, err
	}
	schedule, err := p.store.RecordTrigger(ctx, NewTrigger(ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: c.Snapshot.Operation}, r))
	if err != nil {
		return ingest.Plan{}, nil, err
	}
	in, err := d.newPlan(c, r, schedule)
	if err != nil {
		return ingest.Plan{}, nil, err
	}
	plan, existed, err := p.store.OpenPlan(ctx, in)
	notePlan(span.Of(ctx), plan, schedule)
	switch {
	case err != nil:
		return plan, d.Draft, err
	case existed:
		return plan, d.Draft, p.finishSlicing(ctx, plan)
	case d.Empty:
		return plan, d.Draft, nil
	}
	if err := p.scheduleSlices(ctx, d, plan.Partition, false); err != nil {
		return plan, d.Draft, err
	}
	whole, err := p.addSlices(ctx, plan.Partition, plan.ID, rows{d, in.Key, plan.NextSliceNo, c.Snapshot.Priority()})
	if plan.Status = ingest.PlanReady; !whole {
		plan.Status = ingest.PlanPartial
		return plan, d.Draft, err
	}
	return plan, d.Draft, p.store.AddSlices(ctx, plan.ID, nil, true)
}

// finishSlicing finishes the slicing of a stored plan from what was stored: drawn
// anew it could have other windows, because its own event is folded into the coverage now.
func (p *Planner) finishSlicing(ctx context.Context, plan ingest.Plan) error {
	if plan.Status != ingest.PlanSlicing {
		return nil
	}
	open, err := p.store.OpenPlans(ctx, plan.Partition)
	if err != nil {
		return err
	}
	for _, o := range open {
		if o.ID == plan.ID && o.Status == ingest.PlanSlicing {
			_, err := p.Resume(ctx, plan.Partition, o)
			return err
		}
	}
	return nil
}

// NewTrigger returns what is stored of who asked for a plan, and how.
func NewTrigger(of ingest.Partition, r Request) ingest.Trigger {
	asked := map[string]any{"endpoint": of.Endpoint, "operation": of.Operation, "from": r.From, "to": r.To}
	for name, value := range map[string]string{"requestId": r.RequestID, "typed": r.Typed} {
		if value != "" {
			asked[name] = value
		}
	}
	if r.MaxRequests > 0 {
		asked["maxRequests"] = r.MaxRequests
	}
	if len(r.Overrides) > 0 {
		asked["overrides"] = r.Overrides
	}
	if policy := policyOf(r); len(policy) > 0 {
		asked["policy"] = policy
	}
	if r.By.Actor != "" {
		asked["actor"], asked["reason"] = r.By.Actor, r.By.Reason
	}
	if r.Process != "" {
		asked["process"] = r.Process
	}
	params, _ := fingerprint.Canonical(asked) // texts and nulls always encode
	return ingest.Trigger{
		Key: TriggerKeyOf(r.TriggerKey), Scheduler: r.Scheduler, Type: r.Type, At: window.Instant(r.Now), Source: of.Source, Params: params,
		JobID: r.JobID, LogID: r.LogID,
	}
}

// TriggerKeyOf returns the key under which a trigger is stored.
func TriggerKeyOf(key string) string { return fingerprint.Key("trigger", key) }

// policyOf returns what was asked for beyond the window: how records are chosen, and what
// may be taken or asked.
func policyOf(r Request) map[string]any {
	out := map[string]any{}
	if r.Refresh.Policy != "" {
		out["refresh"] = r.Refresh.Policy
	}
	for name, on := range map[string]bool{"offline": r.Offline, "count": r.Count, "retry": !r.RetryBefore.IsZero()} {
		if on {
			out[name] = true
		}
	}
	return out
}

// newPlan returns the plan as it is stored.
func (d *drawing) newPlan(c *spec.Compiled, r Request, schedule int64) (ingest.NewPlan, error) {
	remarks, err := json.Marshal(struct {
		Explain  []window.Step   `json:"explain"`
		Reason   string          `json:"reason,omitempty"`
		Skipped  []window.Window `json:"skipped,omitempty"`
		Waiting  []window.Window `json:"waiting,omitempty"`
		Slices   int             `json:"sliceCount"`
		Warnings []spec.Warning  `json:"degradation,omitempty"`
		planFacts
	}{d.Explain, d.Reason, d.Skipped, d.Waiting, len(d.Slices), d.Warnings, d.facts(c)})
	if err != nil {
		return ingest.NewPlan{}, err
	}
	params, err := d.sliceParams(c)
	if err != nil {
		return ingest.NewPlan{}, err
	}
	in := ingest.NewPlan{
		ScheduleID: schedule, Partition: ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: c.Snapshot.Operation},
		AsOf: d.NowSafe, Lookback: d.lookback, Owed: d.owed, Namespace: d.namespace,
		ExprProtoHash: d.ExprHash, ExprProto: d.exprProto, MappingHash: c.MappingHash, SpecFingerprint: c.Fingerprint, Spec: c.Canonical,
		ConfigHash: c.Fingerprint, Strategy: string(d.strategy), SliceParams: params, Remarks: remarks, Empty: d.Empty, Lag: d.lag,
		RateKey:       c.Snapshot.Rate.Key(c.Snapshot.Source),
		MaxConcurrent: c.Snapshot.AllMembers().Concurrency, // more tasks than requests would only wait for the gate
		Own:           traitsOf(c.Snapshot.Operation).followsPresent && !c.Foreign, By: r.By, LimitID: r.LimitID, Sectors: d.countSectors(), Narrowed: d.narrowed, LeftOut: d.left,
	}
	if d.opens != nil {
		in.Parents = d.opens.Began
	}
	if d.Window != nil {
		in.Window = *d.Window
	}
	from, to := boundText(r.From), boundText(r.To)
	if r.RequestID != "" {
		from, to = "asked", "asked" // the trigger key says it all
	}
	in.Key = fingerprint.Key(d.Source, d.Endpoint, string(d.Operation), d.ExprHash, from, to, r.TriggerKey) // D§5.5
	return in, nil
}

// boundText returns a bound of the window as it was asked for. It is part of the key of a
// plan, and the window as drawn is not: the same trigger draws another one once its plan is part of the coverage.
func boundText(at *time.Time) string {
	if at == nil {
		return "open"
	}
	return window.Text(*at)
}
