package maintenance

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/pause"
)

// sealAtOnce is how many bodies get their checksums in one step.
const sealAtOnce = 100

// Seal gives versions of records that were stored before there were checksums theirs,
// from where the last run stopped to the end. Between two steps it rests as long as
// the step took: others write too. What is damaged stays as it is and is told.
func (s *Service) Seal(ctx context.Context) (sum retention.Checksummed, err error) {
	err = s.holdAlone(ctx, func(ctx context.Context, _ int64) error {
		for !sum.End {
			began := time.Now()
			part, err := s.store.SealBodies(ctx, sealAtOnce)
			if err != nil {
				return err
			}
			sum.Bodies, sum.End = sum.Bodies+part.Bodies, part.End
			for _, what := range part.Damaged {
				s.log.Error("a version of a record is damaged and gets no checksum", "error", what)
			}
			sum.Damaged = append(sum.Damaged, part.Damaged...)
			if part.End {
				break
			}
			if err := pause.For(ctx, time.Since(began)); err != nil {
				return err
			}
		}
		return nil
	})
	if sum.Bodies > 0 {
		s.log.Info("older versions of records got their checksums", "versions", sum.Bodies, "damaged", len(sum.Damaged), "end", sum.End)
	}
	return sum, err
}
