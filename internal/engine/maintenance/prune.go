package maintenance

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
)

// Prune removes published messages and replaced versions of records that are old
// enough. Messages go first: a version stays while a message refers to it.
func (s *Service) Prune(ctx context.Context, p retention.Policy, by ingest.Act) (done retention.Pruned, err error) {
	p = p.WithDefaults()
	if !p.Prunes() {
		return done, fmt.Errorf("%w: nothing is to be removed: say how long versions of records or published messages are kept", fault.ErrInvalid)
	}
	if err := p.Validate(); err != nil {
		return done, err
	}
	now, err := s.store.Now(ctx)
	if err != nil {
		return done, err
	}
	run := pruning{service: s, policy: p, now: now, done: retention.Pruned{DryRun: by.Rehearsal}}
	if by.Rehearsal {
		err := run.pruneAll(ctx, s.store.OldMessages, s.store.OldUnclaimed, s.store.OldVersions)
		return run.done, err
	}
	err = s.holdAlone(ctx, func(ctx context.Context, epoch int64) error {
		if err := run.pruneAll(ctx, s.store.PruneMessages, s.store.PruneUnclaimed, s.store.PruneVersions); err != nil {
			return err
		}
		for _, what := range run.done.Damaged {
			s.log.Error("versions of records are damaged and stay as they are", "error", what)
		}
		if !run.done.Changed() {
			return s.endDuty(ctx, PruneDuty, epoch, now, by, nil)
		}
		s.log.Info("old data was removed", "versions", run.done.Versions, "messages", run.done.Messages, "unclaimed", run.done.Unclaimed, "held", run.done.Held)
		return s.endDuty(ctx, PruneDuty, epoch, now, by, map[string]any{"versions": run.done.Versions, "messages": run.done.Messages, "unclaimed": run.done.Unclaimed, "held": run.done.Held, "damaged": len(run.done.Damaged)})
	})
	return run.done, err
}

// pruning is one run.
type pruning struct {
	service *Service
	policy  retention.Policy
	now     time.Time
	done    retention.Pruned
}

type (
	messageStep func(ctx context.Context, before time.Time, after int64, limit int) (n, next int64, end bool, err error)
	versionStep func(ctx context.Context, before time.Time, keep int, after int64, limit int) (done retention.Pruned, next int64, end bool, err error)
)

func (r *pruning) pruneAll(ctx context.Context, published, unclaimed messageStep, versions versionStep) error {
	for _, part := range []struct {
		keep time.Duration
		step messageStep
		done *int64
	}{{r.policy.Outbox, published, &r.done.Messages}, {r.policy.Unclaimed, unclaimed, &r.done.Unclaimed}} {
		if err := r.pruneMessages(ctx, part.keep, part.step, part.done); err != nil {
			return err
		}
	}
	if r.policy.Versions == 0 {
		return nil
	}
	for next, end := int64(-1), false; !end; {
		var part retention.Pruned
		var err error
		if part, next, end, err = versions(ctx, r.now.Add(-r.policy.Versions), r.policy.MinVersions, next, deleteAtOnce); err != nil {
			return err
		}
		r.done.Add(part)
	}
	return nil
}

// pruneMessages removes messages that are older than they are kept; zero keeps all.
func (r *pruning) pruneMessages(ctx context.Context, keep time.Duration, step messageStep, done *int64) error {
	for next, end := int64(-1), keep == 0; !end; {
		var n int64
		var err error
		if n, next, end, err = step(ctx, r.now.Add(-keep), next, deleteAtOnce); err != nil {
			return err
		}
		*done += n
	}
	return nil
}
