package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// consentWaits remembers which partitions wait for consent, so that their tasks are not taken
// only to be put back, and other sources go on. It re-checks automatically: work goes on soon
// after a person agreed.
type consentWaits struct {
	app *App

	mu    sync.Mutex
	known map[ingest.Partition]consentWait
}

type consentWait struct {
	waits bool
	until time.Time // when to look again
}

func newConsentWaits(a *App) *consentWaits {
	return &consentWaits{app: a, known: map[ingest.Partition]consentWait{}}
}

// waitsForConsent reports that a partition waits for consent. In doubt it does not: the request
// itself is refused then.
func (r *consentWaits) waitsForConsent(ctx context.Context, of ingest.Partition) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	held, known := r.known[of]
	if known && now.Before(held.until) {
		return held.waits
	}
	next := consentWait{waits: r.app.waitsForConsent(ctx, of), until: now.Add(believed)}
	if next.waits {
		next.until = now.Add(missed)
	}
	r.known[of] = next
	return next.waits
}

func (a *App) waitsForConsent(ctx context.Context, of ingest.Partition) bool {
	compiled, err := a.Compile(ctx, of.Source, of.Endpoint, of.Operation, nil)
	if err != nil {
		return false
	}
	refused, err := a.guard.Refused(ctx, trust.Of(compiled.Snapshot))
	return err == nil && len(refused) > 0
}
