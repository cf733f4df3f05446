package maintenance

import (
	"context"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/record"
)

// Healing is what healing frames needs of the store.
type Healing interface {
	BrokenFrames(ctx context.Context, after int64) (found []integrity.BrokenFrame, next int64, end bool, err error)
	HealFrame(ctx context.Context, id int64, content map[int64]integrity.Content, by ingest.Act) (integrity.Remedy, error)
	AskFrameAgain(ctx context.Context, id int64, by ingest.Act) (current int, sources []string, r integrity.Remedy, err error)
}

// Answers reads the items of a batch again, from its kept answer.
type Answers func(ctx context.Context, batchID int64) ([]record.Incoming, error)

// Heal goes through all frames and heals those that do not fit their hashes: from what
// their tables prove, or from kept answers. With again, what cannot be healed is given up
// for whatever the sources say next. A frame that cannot be healed does not keep others
// from it.
func (s *Service) Heal(ctx context.Context, answers Answers, again bool, by ingest.Act) (done integrity.Treatment, err error) {
	done = integrity.Treatment{DryRun: by.Rehearsal, Frames: []integrity.Treated{}}
	heal := func(ctx context.Context, _ int64) error {
		for after, end := int64(-1), false; !end; {
			var found []integrity.BrokenFrame
			if found, after, end, err = s.store.BrokenFrames(ctx, after); err != nil {
				return err
			}
			for _, f := range found {
				treated, err := s.healFrame(ctx, f, answers, again, by)
				if err != nil {
					return err
				}
				done.Frames = append(done.Frames, treated)
				s.log.Warn("a damaged frame was treated", "frame", f.ID, "remedy", treated.Remedy, "dryRun", by.Rehearsal)
			}
		}
		return nil
	}
	if by.Rehearsal {
		return done, heal(ctx, 0)
	}
	return done, s.holdAlone(ctx, heal)
}

// healFrame finds a remedy for one frame.
func (s *Service) healFrame(ctx context.Context, f integrity.BrokenFrame, answers Answers, again bool, by ingest.Act) (t integrity.Treated, err error) {
	t = integrity.Treated{Frame: f.ID, Versions: len(f.Versions), Why: f.Why, Remedy: integrity.Left}
	content, missing := map[int64]integrity.Content{}, error(nil)
	if !f.Mendable {
		content, missing = readLost(ctx, f, answers)
	}
	if missing == nil {
		t.Remedy, missing = s.store.HealFrame(ctx, f.ID, content, by)
	}
	switch {
	case ctx.Err() != nil:
		return t, ctx.Err()
	case missing == nil:
		return t, nil
	case !errors.Is(missing, fault.ErrInvalid) && !errors.Is(missing, fault.ErrNotFound) && !errors.Is(missing, fault.ErrConflict):
		return t, missing
	}
	t.Remedy, t.Not = integrity.Left, missing.Error()
	rehearse := by
	rehearse.Rehearsal = by.Rehearsal || !again
	var remedy integrity.Remedy
	if t.Current, t.Sources, remedy, err = s.store.AskFrameAgain(ctx, f.ID, rehearse); again {
		t.Remedy = remedy
	}
	return t, err
}

// readLost reads the versions of a broken frame again, batch by batch.
func readLost(ctx context.Context, f integrity.BrokenFrame, answers Answers) (map[int64]integrity.Content, error) {
	if f.Versions == nil {
		return nil, fmt.Errorf("%w: its table is damaged: it is unknown what was in it", fault.ErrInvalid)
	}
	out := map[int64]integrity.Content{}
	var batch int64
	var items map[record.Key]integrity.Content
	for _, v := range f.Versions {
		if v.Batch != batch || items == nil {
			read, err := answers(ctx, v.Batch)
			if errors.Is(err, fault.ErrDamaged) {
				return nil, fmt.Errorf("%w: the answer of batch %d was kept without its items, which are in damaged frames (--raw-whole keeps answers whole that come from now on): %w", fault.ErrInvalid, v.Batch, err)
			}
			if err != nil {
				return nil, err
			}
			batch, items = v.Batch, map[record.Key]integrity.Content{}
			for i := range read {
				items[record.KeyOf(read[i].ProviderID)] = integrity.Content{Item: read[i].Payload, Fields: read[i].Fields, Parts: read[i].Parts}
			}
		}
		if c, there := items[v.Record]; there {
			out[v.Body] = c
		}
	}
	return out, nil
}
