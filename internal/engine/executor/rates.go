package executor

import (
	"context"
	"reflect"
	"slices"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// Rates are the limits of a program and of its second step.
type Rates struct {
	First, Detail gate.Limits
	Own           bool // a quota was set for this run alone
}

// PlannedRates returns the limits of a snapshot.
func PlannedRates(p *spec.Program) Rates {
	out := Rates{First: p.Rate, Own: slices.ContainsFunc(p.RateSet, isQuota)}
	if p.Detail != nil {
		out.Detail = p.Detail.Rate
	}
	return out
}

// isQuota reports whether a key of the rate section decides how much is left of a quota.
func isQuota(key string) bool {
	return slices.Contains([]string{"quotaPerHour", "quotaPerDay", "quotaMargin", "budgetPerDay", "pricePerRequest", "cost"}, key)
}

// currentRates returns the limits in force now; fresh asks for them anew.
func (e *Executor) currentRates(ctx context.Context, p *spec.Program, fresh bool) Rates {
	if e.config.Rates == nil {
		return PlannedRates(p)
	}
	return e.config.Rates(ctx, p, fresh)
}

// putBack decides for how long a task waits, and who waits with it. If the source
// file has changed since the task began, the reason may be gone: the task is tried
// again soon, by the new limits. A limit that was set for one run is no reason
// for the tasks of others.
func (r *taskRun) putBack(ctx context.Context, out *ingest.Outcome) {
	if !out.Waits.Own() || r.program == nil {
		return
	}
	if now := r.executor.currentRates(ctx, r.program, true); !reflect.DeepEqual(now, r.rates) {
		out.Waits, out.NotBefore = gate.OverDeadline, r.lastSeen.Add(waitAfter(0))
		return
	}
	out.Alone = r.rates.Own && out.Waits == gate.Quota
}
