package operate

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// QuarantineStore is what operating the quarantine needs of the store.
type QuarantineStore interface {
	RequeueRejects(ctx context.Context, pick ingest.RejectPick, by ingest.Act) (done ingest.RejectsDone, next int64, err error)
	DiscardRejects(ctx context.Context, pick ingest.RejectPick, by ingest.Act) (done ingest.RejectsDone, next int64, err error)
	CountRejects(ctx context.Context, pick ingest.RejectPick, statuses ...ingest.RejectStatus) (int, error)
}

// Quarantine is what operators do to rejected items.
type Quarantine struct{ store QuarantineStore }

// NewQuarantine makes it.
func NewQuarantine(s QuarantineStore) *Quarantine { return &Quarantine{s} }

// Requeue puts open items back, to be read again.
func (q *Quarantine) Requeue(ctx context.Context, pick ingest.RejectPick, by ingest.Act) (ingest.RejectsDone, error) {
	return q.actOnRejects(ctx, pick, by, false, q.store.RequeueRejects, ingest.RejectOpen)
}

// Discard marks items as junk. That cannot be undone, so a reason is needed.
func (q *Quarantine) Discard(ctx context.Context, pick ingest.RejectPick, by ingest.Act) (ingest.RejectsDone, error) {
	return q.actOnRejects(ctx, pick, by, true, q.store.DiscardRejects, ingest.RejectOpen, ingest.RejectRequeued)
}

// actOnRejects acts chunk by chunk. Each chunk is whole and in the audit log, so an
// interrupted command is simply repeated.
func (q *Quarantine) actOnRejects(ctx context.Context, pick ingest.RejectPick, by ingest.Act, needsReason bool,
	do func(context.Context, ingest.RejectPick, ingest.Act) (ingest.RejectsDone, int64, error), from ...ingest.RejectStatus) (done ingest.RejectsDone, err error) {
	if by, err = checkSigned(by, needsReason); err != nil {
		return done, err
	}
	switch {
	case len(pick.IDs) > mostNamed:
		return done, fmt.Errorf("%w: %d items are named, at most %d can be changed together", fault.ErrInvalid, len(pick.IDs), mostNamed)
	case !pick.Named() && pick.Dataset.Source == "":
		return done, fmt.Errorf("%w: name items by their numbers, or a source", fault.ErrInvalid)
	case by.Rehearsal && !pick.Named(): // a chunk that is taken back would be found again and again
		done.Changed, err = q.store.CountRejects(ctx, pick, from...)
		return done, err
	}
	for {
		part, next, err := do(ctx, pick, by)
		if err != nil {
			return done, err
		}
		if done = done.Add(part); next == 0 {
			return done, nil
		}
		pick.After = next
	}
}
