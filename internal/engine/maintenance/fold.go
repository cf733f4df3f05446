package maintenance

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/pause"
)

// foldAtOnce is how many versions are moved in one step.
const foldAtOnce = 500

// foldPatience is how long it waits for transactions that may still add versions.
const foldPatience = 10 * time.Second

// Folding is what moving versions into frames needs of the store.
type Folding interface {
	FoldUpto(ctx context.Context, patience time.Duration) (upto int64, err error)
	FoldBodies(ctx context.Context, upto int64, limit int) (retention.Folded, error)
}

// Fold moves versions of records from rows of their own into frames, from where the last
// run stopped to the end. Between two steps it rests as long as the step took: others
// write too. Whoever stops it loses nothing; the next run goes on. What is damaged stays
// as it is and is told. watch, if not nil, is told after each step.
func (s *Service) Fold(ctx context.Context, watch func(retention.Folded)) (sum retention.Folded, err error) {
	err = s.holdAlone(ctx, func(ctx context.Context, _ int64) error {
		upto, err := s.store.FoldUpto(ctx, foldPatience)
		if err != nil {
			return err
		}
		for {
			began := time.Now()
			part, err := s.store.FoldBodies(ctx, upto, foldAtOnce)
			if err != nil {
				return err
			}
			for _, what := range part.Damaged {
				s.log.Error("a version of a record is damaged and stays where it is", "error", what)
			}
			if sum.Add(part); watch != nil {
				watch(sum)
			}
			if part.End {
				return nil
			}
			if err := pause.For(ctx, time.Since(began)); err != nil {
				return err
			}
		}
	})
	if sum.Versions > 0 {
		s.log.Info("versions of records were moved into frames", "versions", sum.Versions, "bytesBefore", sum.Before, "bytesAfter", sum.After, "damaged", len(sum.Damaged), "end", sum.End)
	}
	return sum, err
}
