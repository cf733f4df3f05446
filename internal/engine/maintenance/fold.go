package maintenance

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/pause"
)

const (
	foldAtOnce   = 500              // versions that one step moves
	joinAtOnce   = 64               // frames that one step looks at
	foldPatience = 10 * time.Second // for transactions that may still add versions
)

// How much must wait before a process that works does it in the background. `patra db
// compact` does whatever there is.
const (
	worthFolding = 20_000
	worthJoining = 1_000
)

// How often a process that works looks whether versions are to be moved, and how long it
// is at it before others may have the lease. It is no multiple of lookEvery: they would
// meet every time.
const (
	foldEvery = 7 * time.Minute
	foldMost  = 3 * time.Minute
)

// Folding is what moving versions into frames needs of the store.
type Folding interface {
	FoldUpto(ctx context.Context, patience time.Duration) (upto int64, err error)
	FoldWaiting(ctx context.Context, most int) (int, error)
	FoldBodies(ctx context.Context, upto int64, limit int) (retention.Folded, error)
	RepackWaiting(ctx context.Context) (int64, error)
	RepackFrames(ctx context.Context, upto int64, limit int) (retention.Folded, error)
}

// Fold moves versions of records from rows of their own into frames and joins small
// frames, from where the last run stopped to the end. Between two steps it rests as long
// as the step took: others write too. Whoever stops it loses nothing; the next run goes
// on. What is damaged stays as it is and is told. watch, if not nil, is told after each
// step.
func (s *Service) Fold(ctx context.Context, watch func(retention.Folded)) (retention.Folded, error) {
	return s.foldWhile(ctx, watch, func() bool { return true })
}

// foldWhile does what Fold does, and begins no further step once it may not.
func (s *Service) foldWhile(ctx context.Context, watch func(retention.Folded), may func() bool) (sum retention.Folded, err error) {
	err = s.holdAlone(ctx, func(ctx context.Context, _ int64) error {
		upto, err := s.store.FoldUpto(ctx, foldPatience)
		if err != nil {
			return err
		}
		for _, step := range []func() (retention.Folded, error){
			func() (retention.Folded, error) { return s.store.FoldBodies(ctx, upto, foldAtOnce) },
			func() (retention.Folded, error) { return s.store.RepackFrames(ctx, upto, joinAtOnce) },
		} {
			for sum.End = false; !sum.End && may(); {
				began := time.Now()
				part, err := step()
				if err != nil {
					return err
				}
				for _, what := range part.Damaged {
					s.log.Error("a version of a record is damaged and stays where it is", "error", what)
				}
				if sum.Add(part); watch != nil {
					watch(sum)
				}
				if err := pause.For(ctx, time.Since(began)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if sum.Versions > 0 || sum.Joined > 0 {
		s.log.Info("versions of records were moved into frames", "versions", sum.Versions, "joined", sum.Joined, "bytesBefore", sum.Before, "bytesAfter", sum.After, "damaged", len(sum.Damaged), "end", sum.End)
	}
	return sum, err
}

// KeepFolded looks now and then whether much is to be folded, and does it, until ctx
// ends: what an older program stored, what many small batches left, and frames that
// pruning made small. One process at a time does, for a few minutes, and then gives
// others the lease. Whatever fails is tried again: work does not depend on it.
func (s *Service) KeepFolded(ctx context.Context) {
	ticker := time.NewTicker(foldEvery)
	defer ticker.Stop()
	for {
		if err := s.foldDue(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, ErrBusy) && !errors.Is(err, fault.ErrBusy) {
			s.log.Warn("older versions were not moved into frames; it is tried again, patra db compact does it now", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *Service) foldDue(ctx context.Context) error {
	rows, err := s.store.FoldWaiting(ctx, s.config.FoldFrom)
	if err != nil {
		return err
	}
	small, err := s.store.RepackWaiting(ctx)
	if err != nil || rows < s.config.FoldFrom && small < int64(s.config.RepackFrom) {
		return err
	}
	began := time.Now()
	_, err = s.foldWhile(ctx, nil, func() bool { return time.Since(began) < foldMost })
	return err
}
