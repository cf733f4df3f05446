package operate

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// RateStore keeps what waits for rate keys.
type RateStore interface {
	ReleaseRate(ctx context.Context, key string, by ingest.Act) (view.RateReleased, error)
}

// Rates acts on rate keys for people.
type Rates struct{ store RateStore }

// NewRates makes one.
func NewRates(s RateStore) *Rates { return &Rates{s} }

// Release lets go on what waits for a rate key (D§5.31).
func (r *Rates) Release(ctx context.Context, key string, by ingest.Act) (done view.RateReleased, err error) {
	if by, err = checkSigned(by, true); err != nil {
		return done, err
	}
	done, err = r.store.ReleaseRate(ctx, key, by)
	done.DryRun = by.Rehearsal
	return done, err
}
