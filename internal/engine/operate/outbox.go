package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// OutboxStore is what operating the outbox needs of the store.
type OutboxStore interface {
	RetryEvents(ctx context.Context, pick event.Pick, by ingest.Act) (done event.Done, more bool, err error)
	DiscardEvents(ctx context.Context, pick event.Pick, by ingest.Act) (done event.Done, more bool, err error)
	ReplayEvents(ctx context.Context, in event.Replay, after int64, by ingest.Act) (event.Replayed, error)
	FirstEventSince(ctx context.Context, at time.Time) (row int64, err error)
}

// Outbox is what operators do to events.
type Outbox struct{ store OutboxStore }

// NewOutbox makes it.
func NewOutbox(s OutboxStore) *Outbox { return &Outbox{s} }

// Retry lets events be tried again that failed or are dead.
func (o *Outbox) Retry(ctx context.Context, pick event.Pick, by ingest.Act) (event.Done, error) {
	return o.actOnEvents(ctx, pick, by, false, o.store.RetryEvents)
}

// Discard gives events up: they are never delivered. That cannot be undone, so a
// reason is needed.
func (o *Outbox) Discard(ctx context.Context, pick event.Pick, by ingest.Act) (event.Done, error) {
	return o.actOnEvents(ctx, pick, by, true, o.store.DiscardEvents)
}

func (o *Outbox) actOnEvents(ctx context.Context, pick event.Pick, by ingest.Act, needsReason bool,
	do func(context.Context, event.Pick, ingest.Act) (event.Done, bool, error)) (sum event.Done, err error) {
	if by, err = checkSigned(by, needsReason); err != nil {
		return sum, err
	}
	if !pick.Named() && pick.Source == "" {
		return sum, fmt.Errorf("%w: name events by their ids, or the dead ones of a source", fault.ErrInvalid)
	}
	sum.DryRun = by.Rehearsal
	for more := true; more; {
		var done event.Done
		if done, more, err = do(ctx, pick, by); err != nil {
			return sum, err
		}
		sum.Changed, sum.Unchanged = sum.Changed+done.Changed, sum.Unchanged+done.Unchanged
		if by.Rehearsal {
			return sum, nil // the same chunk would come again
		}
	}
	return sum, nil
}

// Replay puts events back so that they are published once more. Records are not
// touched. It tells how many, and the first of them.
func (o *Outbox) Replay(ctx context.Context, in event.Replay, by ingest.Act) (out event.ReplayDone, err error) {
	if by, err = checkSigned(by, true); err != nil {
		return out, err
	}
	if in.FromRow == 0 && in.Since.IsZero() {
		return out, fmt.Errorf("%w: say from when, or from which event on", fault.ErrInvalid)
	}
	if !in.Since.IsZero() {
		if in.FromRow, err = o.store.FirstEventSince(ctx, in.Since); err != nil {
			return out, err
		}
	}
	out.DryRun = by.Rehearsal
	for after := int64(0); ; {
		in.Begins = out.Events == 0
		done, err := o.store.ReplayEvents(ctx, in, after, by)
		if err != nil {
			return out, err
		}
		if out.Events += done.Events; out.First == 0 {
			out.First = done.First
		}
		if after = done.Next; done.End {
			return out, nil
		}
	}
}
