package daemon

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/executor"
)

// currentRates knows the rate sections that are in force. A plan freezes what is asked.
// How fast and how much may be asked is a promise to the upstream, so that follows what
// the source file says when a task begins (D§5.31).
type currentRates struct {
	app *App

	mu    sync.Mutex
	known map[rateOf]heldRates
}

// rateOf names one operation of one endpoint.
type rateOf struct {
	source, endpoint string
	operation        ingest.Operation
}

type heldRates struct {
	executor.Rates
	at time.Time
}

func newCurrentRates(a *App) *currentRates {
	return &currentRates{app: a, known: map[rateOf]heldRates{}}
}

// rateTTL is how long a rate section is used without asking the registry for it:
// tasks may begin by the hundred. Before one is put back it is asked for anew.
const rateTTL = time.Second

// ratesNow returns the limits of a program as they are now, with what was set for its
// run. A source that cannot be read any more keeps those it was planned with.
func (b *currentRates) ratesNow(ctx context.Context, p *spec.Program, fresh bool) executor.Rates {
	planned := executor.PlannedRates(p)
	now, ok := b.declaredRates(ctx, rateOf{p.Source, p.Endpoint, p.Operation}, fresh)
	if !ok {
		return planned
	}
	out := executor.Rates{First: now.First.With(planned.First, p.RateSet), Detail: planned.Detail, Own: planned.Own}
	if p.Detail != nil && now.Detail != (gate.Limits{}) {
		out.Detail = now.Detail.With(planned.Detail, p.Detail.RateSet)
	}
	return out
}

func (b *currentRates) declaredRates(ctx context.Context, of rateOf, fresh bool) (executor.Rates, bool) {
	b.mu.Lock()
	held, known := b.known[of]
	b.mu.Unlock()
	if known && !fresh && time.Since(held.at) < rateTTL {
		return held.Rates, true
	}
	compiled, err := b.app.compileUntraced(ctx, of.source, of.endpoint, of.operation, nil)
	if err != nil {
		return executor.Rates{}, false
	}
	now := executor.Rates{First: compiled.Snapshot.Rate}
	if d := compiled.Snapshot.Detail; d != nil {
		now.Detail = d.Rate
	}
	b.mu.Lock()
	b.known[of] = heldRates{now, time.Now()}
	b.mu.Unlock()
	if known && !reflect.DeepEqual(held.Rates, now) {
		b.redeclareRates(compiled.Snapshot, now)
	}
	return now, true
}

// redeclareRates tells the gate that a source file has changed.
func (b *currentRates) redeclareRates(s spec.Snapshot, now executor.Rates) {
	b.tellMembers(now.First.Key(s.Source), now.First, s.MemberNames())
	if d := s.Detail; d != nil && (now.Detail.Key(s.Source) != now.First.Key(s.Source) || len(d.Pool) > 0) {
		b.tellMembers(now.Detail.Key(s.Source), now.Detail, d.MemberNames())
	}
}

// tellMembers tells the gate of a key, or of those of the members that are counted instead.
func (b *currentRates) tellMembers(key string, l gate.Limits, members []string) {
	for _, member := range members {
		b.tellGates(gate.MemberKey(key, member), l)
	}
	if len(members) == 0 {
		b.tellGates(key, l)
	}
}

func (b *currentRates) tellGates(key string, l gate.Limits) {
	b.app.gate.Redeclare(key, l)
	if b.app.shared != nil {
		b.app.shared.Redeclare(key, l)
	}
}
