package planner

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// quota is what a draft knows of the quota its slices are counted under.
type quota struct {
	key      string
	members  []string    // of the pool whose quotas are meant; none: there is one quota
	limits   gate.Limits // of all members together
	priority int
	waits    bool        // a slice that does not fit now may wait for its window
	needs    []float64   // of each slice, in requests
	at       []time.Time // when each slice may begin; nil: nothing bounds it
	free     []time.Time // when each slice would begin if nothing bounded it
}

// limitsOf returns the key a step is counted under, and the limits it is bound by.
func limitsOf(s spec.Snapshot, step slicing.Step) (string, gate.Limits) {
	if step.Role == details && s.Detail != nil {
		s = *s.Detail
	}
	return s.Rate.Key(s.Source), s.AllMembers().Filled()
}

// setAsideQuota works out what each slice is expected to take of the quota (S§10). Only
// what is counted under the key of the source itself is set aside: an endpoint
// with a key of its own is bounded by the gate alone.
func (d *drawing) setAsideQuota(s spec.Snapshot, cuts []slicing.Slice) {
	if len(cuts) == 0 {
		return
	}
	steps := stepsFor(s, cuts)
	q := quota{key: s.Rate.Key(s.Source), members: s.MemberNames(), limits: s.AllMembers().Filled(), priority: s.Priority(), waits: !traitsOf(s.Operation).followsPresent}
	q.needs = make([]float64, len(cuts))
	for _, step := range steps {
		key, limits := limitsOf(s, step)
		if key != q.key {
			continue
		}
		for i, cut := range cuts {
			q.needs[i] += float64(step.Requests(cut.Expected())) * limits.Cost
		}
	}
	d.quota = q
}

// stepsFor returns what endpoints do for slices of one kind.
func stepsFor(s spec.Snapshot, cuts []slicing.Slice) []slicing.Step {
	if cuts[0].Spec.Range != nil {
		return stepsByID(s)
	}
	return stepsOf(s)
}

// rollOver gives every slice the first instant at which its requests fit into the
// quotas (§4.10.5). What follows the present never waits: the gate and the part
// that is left free make room for it.
func (d *drawing) rollOver(u gate.Use, from func(i int) time.Time) {
	budget := gate.NewBudget(d.quota.limits, d.quota.priority, u)
	if d.quota.at, d.quota.free = nil, nil; !d.quota.waits || budget == nil {
		return
	}
	d.quota.at, d.quota.free = make([]time.Time, len(d.quota.needs)), make([]time.Time, len(d.quota.needs))
	for i, need := range d.quota.needs {
		d.quota.free[i] = from(i)
		d.quota.at[i] = budget.Place(need, from(i))
	}
}

// waitsFor returns why a slice is put off: the quota, or the hours where they alone
// would do the same. Empty: it is not put off.
func (d *drawing) waitsFor(i int) gate.Reason {
	if d.quota.at == nil || !d.quota.at[i].After(d.quota.free[i]) {
		return ""
	}
	if hours, err := gate.ParseHours(d.quota.limits.Hours); err == nil && d.quota.limits.Hours != "" && !hours.NextOpen(d.quota.free[i]).Before(d.quota.at[i]) {
		return gate.ClosedHours
	}
	return gate.Quota
}

// showRolled shows in the draft which slices wait for a later window. Nothing is
// stored yet: they are placed again when it is.
func (d *drawing) showRolled(uses map[string]gate.Use) {
	u := uses[d.quota.key]
	if u.Now.IsZero() || u.Now.Before(d.Now) {
		u.Now = d.Now
	}
	spread := func(i int) time.Time {
		if d.due == nil {
			return u.Now
		}
		return u.Now.Add(d.due[i])
	}
	d.rollOver(u, spread)
	for i, at := range d.quota.at {
		if at.After(spread(i)) {
			d.Slices[i].Due = at
			d.Rolled++
		}
	}
}

// forecastQuota works out what the whole draft takes of each rate key it uses.
func (d *drawing) forecastQuota(s spec.Snapshot, uses map[string]gate.Use) {
	if len(d.cuts) == 0 {
		return
	}
	var loads []gate.Load
	for i, step := range stepsFor(s, d.cuts) {
		if i >= len(d.Forecast.Endpoints) {
			break
		}
		key, limits := limitsOf(s, step)
		n := d.Forecast.Endpoints[i].Requests.Value
		loads = addLoad(loads, gate.Load{Key: key, Limits: limits, Requests: n * limits.Cost, Money: n * limits.PricePerRequest})
	}
	d.Quotas = []gate.Prospect{}
	for _, l := range loads {
		d.Quotas = append(d.Quotas, gate.Foretell(l, uses[l.Key], d.Now))
	}
}

// addLoad adds what is asked under a key to what is known of that key.
func addLoad(all []gate.Load, l gate.Load) []gate.Load {
	for i := range all {
		if o := &all[i]; o.Key == l.Key {
			o.Limits, o.Requests, o.Money = o.Limits.Lowest(l.Limits), o.Requests+l.Requests, o.Money+l.Money
			return all
		}
	}
	return append(all, l)
}

// readQuotaUses reads how much of the quotas of a source is used.
func (p *Planner) readQuotaUses(ctx context.Context, s spec.Snapshot) (map[string]gate.Use, error) {
	out := map[string]gate.Use{}
	for _, step := range append(stepsOf(s), stepsByID(s)...) {
		key, _ := limitsOf(s, step)
		if _, known := out[key]; known {
			continue
		}
		of := s
		if step.Role == details && s.Detail != nil {
			of = *s.Detail
		}
		u, err := p.readQuotaUse(ctx, key, of.MemberNames())
		if err != nil {
			return nil, err
		}
		out[key] = u
	}
	return out, nil
}

// readQuotaUse reads how much of the quotas of a key is used: of a pool, by all its members. Tasks set their requests
// aside under the key of the pool, for nobody knows yet who will send them.
func (p *Planner) readQuotaUse(ctx context.Context, key string, members []string) (gate.Use, error) {
	sum, err := p.store.QuotaUse(ctx, key)
	if err != nil || len(members) == 0 {
		return sum, err
	}
	parts := make([]gate.Use, len(members))
	for i, name := range members {
		if parts[i], err = p.store.QuotaUse(ctx, gate.MemberKey(key, name)); err != nil {
			return sum, err
		}
	}
	return sum.WithMembers(parts), nil
}

// placeInQuota fixes when the slices of a plan that is stored now may begin, by what is
// known of the quota now.
func (p *Planner) placeInQuota(ctx context.Context, d *drawing) error {
	q := d.quota
	if gate.NewBudget(q.limits, q.priority, gate.Use{}) == nil || !q.waits {
		return nil
	}
	u, err := p.readQuotaUse(ctx, q.key, q.members)
	if err != nil {
		return err
	}
	d.began = u.Now
	if d.first.IsZero() {
		d.first = d.began
	}
	d.rollOver(u, func(i int) time.Time {
		if d.due == nil {
			return d.first
		}
		return d.first.Add(d.due[i])
	})
	return nil
}

// reservedFor returns how many requests the task of a slice sets aside.
func (d *drawing) reservedFor(i int) float64 {
	if i >= len(d.quota.needs) {
		return 0
	}
	return d.quota.needs[i]
}
