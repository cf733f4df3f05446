package archive

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// foldMark is how far versions were moved from rows into frames.
const foldMark = "frames"

// How much one step of folding reads.
const foldBytes = 4 << 20

// FoldUpto returns the last version that may be folded: all transactions that could
// still add one before it have ended. A frame must not get a range in which a version
// appears later.
func (s *Archive) FoldUpto(ctx context.Context, patience time.Duration) (upto int64, err error) {
	if _, upto, err = bodies.Bounds(s.db.Ask(ctx)); err == nil {
		err = s.look.AwaitWriters(ctx, patience)
	}
	return upto, kernel.Wrap("fold versions", s.db.Translate(err))
}

// FoldWaiting counts the versions that wait to be folded, up to a number.
func (s *Archive) FoldWaiting(ctx context.Context, most int) (n int, err error) {
	from, err := s.foldedTo(ctx)
	if err == nil {
		err = s.db.QueryRow(ctx, "SELECT COUNT(*) FROM (SELECT body_id FROM ing_record_body WHERE body_id > ? ORDER BY body_id LIMIT ?) waiting", from, most).Scan(&n)
	}
	return n, kernel.Wrap("count versions to fold", s.db.Translate(err))
}

func (s *Archive) foldedTo(ctx context.Context) (int64, error) {
	return markAt(func(query string, args ...any) kernel.Scanner { return s.db.QueryRow(ctx, query, args...) }, foldMark)
}

// FoldBodies moves some versions from rows of their own into frames (decision 90), in
// one transaction: a version is never in both, and never in none. What is read before
// the transaction is held against the database inside of it. Damaged versions stay
// where they are and are told: a frame's hash would make damage look good.
func (s *Archive) FoldBodies(ctx context.Context, upto int64, limit int) (done retention.Folded, err error) {
	from, err := s.foldedTo(ctx)
	if err != nil {
		return done, kernel.Wrap("fold versions", s.db.Translate(err))
	}
	plan, err := s.planFold(ctx, from, upto, limit)
	if err != nil {
		return done, kernel.Wrap("fold versions", s.db.Translate(err))
	}
	if len(plan.rows) == 0 && plan.next == from {
		plan.done.End = true
		return plan.done, nil
	}
	err = s.step(ctx, "fold versions", kernel.Bulk, func(t *tx) error {
		if err := bodies.ReplaceFrames(t.Tx, plan.replaced, plan.frames); err != nil {
			return err
		}
		crash.At(crash.Folding)
		if err := bodies.DeleteRows(t.Tx, plan.rows); err != nil {
			return err
		}
		return t.markIfAt(foldMark, from, plan.next)
	})
	return plan.done, err
}

// foldPlan is what a step of folding will do.
type foldPlan struct {
	rows     []int64        // to remove
	frames   []bodies.Frame // to write
	replaced []bodies.Frame // to remove: their versions are in frames
	next     int64
	done     retention.Folded
}

// planFold reads some rows and makes frames of them.
func (s *Archive) planFold(ctx context.Context, from, upto int64, limit int) (plan foldPlan, err error) {
	page, next, end, err := bodies.ReadRows(s.db.Ask(ctx), bodies.Range{After: from, Upto: upto, Most: limit, Bytes: foldBytes, Part: bodies.WholePart, Damaged: true})
	if err != nil {
		return plan, err
	}
	plan.next, plan.done.End = next, end
	if len(page) == 0 {
		plan.next = from
	}
	var run []bodies.Version
	before, following := bodies.Frame{ID: -1}, int64(-1) // the frames around the run
	flush := func() error {
		if len(run) == 0 {
			return nil
		}
		err := plan.addRun(run, before)
		run = nil
		return err
	}
	for i := range page {
		v, err := s.foldable(ctx, &page[i], &plan.done)
		if err != nil {
			return plan, err
		}
		if v == nil {
			continue
		}
		if v.ID > following { // another frame stands between this version and the ones before it
			if err := flush(); err != nil {
				return plan, err
			}
			if before, following, err = bodies.FramesAround(s.db.Ask(ctx), v.ID); err != nil {
				return plan, err
			}
		}
		run = append(run, *v)
		plan.done.Before += int64(page[i].Size() + rowOverhead)
	}
	if err := flush(); err != nil {
		return plan, err
	}
	plan.done.Frames = int64(len(plan.frames) - len(plan.replaced))
	plan.done.After = bodies.StoredSize(plan.frames...) - bodies.StoredSize(plan.replaced...)
	plan.done.Versions = int64(len(plan.rows))
	return plan, nil
}

// rowOverhead is what a row says of a version beside its content, in bytes.
const rowOverhead = 60

// foldable opens a row. One that is damaged, or too large for a frame, is noted and
// stays.
func (s *Archive) foldable(ctx context.Context, b *bodies.Stored, done *retention.Folded) (*bodies.Version, error) {
	item, seal, err := b.Open()
	if err == nil && !seal.Sealed {
		err = s.bodies.CheckContent(ctx, b, item)
	}
	if errors.Is(err, fault.ErrDamaged) {
		done.Damaged = append(done.Damaged, err.Error())
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(item)+len(b.Fields) > bodies.FrameMost {
		done.Large++
		return nil, nil
	}
	return &bodies.Version{Key: b.Key, Item: item, Fields: b.Fields}, nil
}

// addRun makes frames of versions that follow one frame and come before the next. Few of
// them are joined to the frame before them. Those within its range always are: ranges
// must not overlap.
func (p *foldPlan) addRun(run []bodies.Version, before bodies.Frame) error {
	within := before.ID >= 0 && before.Last >= run[0].ID
	rows := make([]int64, len(run))
	size := 0
	for i := range run {
		rows[i], size = run[i].ID, size+len(run[i].Item)+len(run[i].Fields)
	}
	if before.ID >= 0 && (within || size < bodies.FrameLeast) {
		versions, err := before.Reopen()
		switch {
		case err == nil:
			run = append(versions, run...)
			slices.SortFunc(run, func(a, b bodies.Version) int { return cmp.Compare(a.ID, b.ID) })
			p.replaced = append(p.replaced, before)
		case !errors.Is(err, fault.ErrDamaged):
			return err
		case within:
			p.done.Damaged = append(p.done.Damaged, err.Error())
			return nil // its versions stay rows
		}
	}
	p.rows = append(p.rows, rows...)
	p.frames = append(p.frames, bodies.BuildFrames(run)...)
	return nil
}
