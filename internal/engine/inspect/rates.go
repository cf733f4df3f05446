package inspect

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
)

// RateKeys lists the rate keys of all sources with what they may do, from the
// registry, and how they stand, from the store: nothing of it is known to one
// process alone.
func (i *Inspector) RateKeys(ctx context.Context) ([]view.RateKey, error) {
	keys, err := i.DeclaredRates(ctx)
	if err != nil {
		return nil, err
	}
	now, err := i.from.Clock.Now(ctx)
	if err != nil {
		return nil, err
	}
	reports, err := i.from.Rates.RateReports(ctx)
	if err != nil {
		return nil, err
	}
	for name := range reports {
		if keys[name] == nil { // of a source that was changed since
			keys[name] = &view.RateKey{Key: name, Uses: []view.RateUse{}}
		}
	}
	pauses, err := i.from.Rates.RatePauses(ctx)
	if err != nil {
		return nil, err
	}
	living, err := i.from.Rates.RateMembers(ctx)
	if err != nil {
		return nil, err
	}
	breakers, err := i.from.Rates.BreakerRows(ctx)
	if err != nil {
		return nil, err
	}
	holds, err := i.from.Rates.RateHolds(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]view.RateKey, 0, len(keys))
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		k := keys[name]
		k.At, k.Living, k.Processes = now, len(living), append([]view.RateReport{}, reports[name]...)
		addCooling(k, pauses[name], now)
		k.Holds = holds[name]
		addTrouble(k, breakers, now)
		k.PerSecond = rateNow(k.Processes)
		for _, member := range k.Members {
			k.PerSecond = addRates(k.PerSecond, rateNow(reports[gate.MemberKey(name, member)]))
		}
		if k.Quotas, err = i.quotas(ctx, k); err != nil {
			return nil, err
		}
		out = append(out, *k)
	}
	return out, nil
}

// DeclaredRates groups what all sources declare by rate key.
func (i *Inspector) DeclaredRates(ctx context.Context) (map[string]*view.RateKey, error) {
	ctx, err := i.from.Sources.Hold(ctx)
	if err != nil {
		return nil, err
	}
	sources, err := i.from.Sources.Sources(ctx)
	if err != nil {
		return nil, err
	}
	keys := map[string]*view.RateKey{}
	for _, s := range sources {
		src, _, err := i.from.Sources.Source(ctx, s.Code)
		if err != nil {
			return nil, err
		}
		for _, endpoint := range s.Endpoints {
			for _, operation := range src.Operates(endpoint) {
				r, err := i.from.Sources.ResolveSource(src, endpoint, ingest.Operation(operation))
				if err != nil {
					return nil, err
				}
				declareRate(keys, s.Code, endpoint, operation, r.Settings)
			}
		}
	}
	return keys, nil
}

// declareRate adds an endpoint to the key of its source or group. Each member of a pool has a key of its own beside
// it, with the limits that the source declares; that of the pool has those of all of them.
func declareRate(keys map[string]*view.RateKey, source, endpoint, operation string, s registry.Settings) {
	name := s.Rate.Key(source)
	k := addUse(keys, name, source, endpoint, operation, s.AllMembers())
	for _, member := range s.MemberNames() {
		addUse(keys, gate.MemberKey(name, member), source, endpoint, operation, s.Rate).Member = member
		if !slices.Contains(k.Members, member) {
			k.Members = append(k.Members, member)
		}
	}
}

func addUse(keys map[string]*view.RateKey, name, source, endpoint, operation string, l gate.Limits) *view.RateKey {
	k := keys[name]
	if k == nil {
		k = &view.RateKey{Key: name, Limits: &l}
		keys[name] = k
	}
	lowest := k.Limits.Lowest(l)
	k.Limits = &lowest
	same := slices.IndexFunc(k.Uses, func(u view.RateUse) bool {
		return u.Source == source && u.Endpoint == endpoint && reflect.DeepEqual(u.Limits, l)
	})
	if same < 0 {
		k.Uses = append(k.Uses, view.RateUse{Source: source, Endpoint: endpoint, Operations: []string{operation}, Limits: l})
		return k
	}
	k.Uses[same].Operations = append(k.Uses[same].Operations, operation)
	return k
}

// addCooling adds until when nothing may leave: as it is stored, or as a process heard
// a moment ago.
func addCooling(k *view.RateKey, stored, now time.Time) {
	for _, r := range k.Processes {
		if r.State.CoolingUntil.After(stored) {
			stored = r.State.CoolingUntil
		}
	}
	if stored.After(now) {
		k.CoolingUntil = stored
	}
}

// addTrouble adds the breakers and the hours of the uses of a key.
func addTrouble(k *view.RateKey, breakers map[ingest.Dataset]view.RateBreaker, now time.Time) {
	for n, u := range k.Uses {
		if b, ok := breakers[ingest.Dataset{Source: u.Source, Endpoint: u.Endpoint}]; ok {
			k.Uses[n].Breaker = &b
		}
		if hours, err := gate.ParseHours(u.Limits.Hours); err == nil && !hours.Open(now) {
			k.Uses[n].Opens = hours.NextOpen(now)
		}
	}
}

// rateNow returns what all processes together may send now. Those that share a gate
// say the same; the others say their own part.
func rateNow(reports []view.RateReport) *float64 {
	if len(reports) == 0 {
		return nil
	}
	var sum float64
	var newest view.RateReport
	for _, r := range reports {
		sum += r.State.PerSecond
		if r.State.Shared && r.At.After(newest.At) {
			newest = r
		}
	}
	if newest.State.Shared {
		sum = newest.State.PerSecond
	}
	return &sum
}

// addRates sums what is known of two.
func addRates(a, b *float64) *float64 {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := *a + *b
	return &sum
}

// quotaUse reads the use of the quotas of a key, for a pool that of all members.
func (i *Inspector) quotaUse(ctx context.Context, k *view.RateKey) (gate.Use, error) {
	use, err := i.from.Rates.QuotaUse(ctx, k.Key)
	if err != nil || len(k.Members) == 0 {
		return use, err
	}
	parts := make([]gate.Use, len(k.Members))
	for n, member := range k.Members {
		if parts[n], err = i.from.Rates.QuotaUse(ctx, gate.MemberKey(k.Key, member)); err != nil {
			return use, err
		}
	}
	return use.WithMembers(parts), nil
}

// quotas returns how the quotas of a key stand: as the store counts them, or as the
// processes say where a server counts for them.
func (i *Inspector) quotas(ctx context.Context, k *view.RateKey) (out []view.RateQuota, err error) {
	if k.Limits == nil || k.Limits.QuotaPerHour == 0 && k.Limits.QuotaPerDay == 0 && k.Limits.BudgetPerDay == 0 {
		return nil, nil
	}
	use, err := i.quotaUse(ctx, k)
	if err != nil {
		return nil, err
	}
	for _, q := range []struct {
		name   string
		length time.Duration
		limit  float64
		margin float64
	}{
		{"hour", time.Hour, float64(k.Limits.QuotaPerHour), k.Limits.QuotaMargin},
		{"day", 24 * time.Hour, float64(k.Limits.QuotaPerDay), k.Limits.QuotaMargin},
		{"money", 24 * time.Hour, k.Limits.BudgetPerDay, 0},
	} {
		if q.limit == 0 {
			continue
		}
		start := use.Now.UTC().Truncate(q.length)
		quota := view.RateQuota{Name: q.name, Limit: q.limit, Usable: q.limit * (1 - q.margin), Reset: start.Add(q.length)}
		quota.Used = usedOf(q.name, start, use, k.Processes)
		for _, r := range use.Reserved {
			if q.name != "money" && r.Hour.Before(quota.Reset) {
				quota.Reserved += r.Requests
			}
		}
		quota.Left = max(quota.Usable-quota.Used, 0)
		out = append(out, quota)
	}
	return out, nil
}

// usedOf returns how much of a quota is used in the period that began at start.
func usedOf(name string, start time.Time, use gate.Use, reports []view.RateReport) (most float64) {
	for _, t := range use.Taken {
		if t.Quota == name && !t.Start.Before(start) {
			most += t.Amount // of each member of a pool
		}
	}
	for _, r := range reports {
		for _, u := range r.State.Quotas {
			if u.Name == name && u.Reset.After(start) && r.State.Shared {
				most = max(most, u.Used)
			}
		}
	}
	return most
}
