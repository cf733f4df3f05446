package archive

import (
	"context"
	"slices"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// oldPlan is a plan that ended long ago.
type oldPlan struct {
	id, cursor int64
	window     *window.Window
}

// holdOf tells why a plan must stay.
func (s *Archive) holdOf(ctx context.Context, p oldPlan) (retention.Hold, error) {
	for _, look := range []struct {
		hold retention.Hold
		held func(context.Context, oldPlan) (bool, error)
	}{
		{retention.Working, s.isWorkedOn}, {retention.Owed, s.isOwed}, {retention.Rejects, s.hasRejects}, {retention.Unpublished, s.hasUnpublished},
	} {
		if held, err := look.held(ctx, p); err != nil || held {
			return look.hold, err
		}
	}
	return retention.Free, nil
}

// isWorkedOn reports whether a plan has open work. A cancelled plan waits for its
// workers to stop.
func (s *Archive) isWorkedOn(ctx context.Context, p oldPlan) (bool, error) {
	return s.db.Exists(ctx, "SELECT 1 FROM ing_task WHERE plan_id = ? AND status_code IN ('SCHEDULED','QUEUED','DISPATCHED','EXECUTING') LIMIT 1", p.id)
}

// isOwed reports whether something of the plan's window must still be read, or read
// again. Below the origin nothing is read any more.
func (s *Archive) isOwed(ctx context.Context, p oldPlan) (bool, error) {
	if p.window == nil {
		return s.isOwedElsewhere(ctx, p)
	}
	c, err := s.look.Cursor(ctx, p.cursor)
	if err != nil {
		return false, err
	}
	within := *p.window
	if c.Origin.After(within.From) {
		within.From = c.Origin
	}
	if within.Empty() || c.Origin.IsZero() {
		return false, nil
	}
	rows, err := s.db.Query(ctx, `SELECT seg_from, seg_to, want_at, have_at, waived_at, fails, retry_after FROM ing_coverage
  WHERE cursor_id = ? AND seg_to > ? AND seg_from < ? ORDER BY seg_from`, p.cursor, within.From.UnixMicro(), within.To.UnixMicro())
	if err != nil {
		return false, err
	}
	var segments []coverage.Segment
	if err := kernel.Each(rows, func() error {
		seg, err := look.ScanSegment(rows)
		segments = append(segments, seg)
		return err
	}); err != nil {
		return false, err
	}
	return len(window.Subtract(within, coverage.Settled(segments, within, look.LookbackOf(c)))) > 0, nil
}

// isOwedElsewhere does what isOwed does for a plan that owns no range of time:
// something of it was not read, and its cursor has something that is not done.
func (s *Archive) isOwedElsewhere(ctx context.Context, p oldPlan) (bool, error) {
	unread, err := s.db.Exists(ctx, "SELECT 1 FROM ing_plan_slice WHERE plan_id = ? AND status_code <> 'SUCCEEDED' LIMIT 1", p.id)
	if !unread || err != nil {
		return false, err
	}
	segments, err := s.look.Segments(ctx, p.cursor)
	return slices.ContainsFunc(segments, func(seg coverage.Segment) bool { return !seg.Done() }), err
}

func (s *Archive) hasRejects(ctx context.Context, p oldPlan) (bool, error) {
	return s.db.Exists(ctx, "SELECT 1 FROM ing_quarantine WHERE plan_id = ? AND status_code IN ('OPEN','REQUEUED') LIMIT 1", p.id)
}

// batchesAtOnce keeps a look at the outbox short: no read snapshot stays open
// over all pages of a plan.
const batchesAtOnce = 500

// hasUnpublished reports whether messages about the plan's records wait for
// publishing. The id of a body begins with that of its batch (see bodies.ID), so
// the messages of a batch are one range of an index.
func (s *Archive) hasUnpublished(ctx context.Context, p oldPlan) (bool, error) {
	after := int64(0)
	for {
		batches, err := s.db.IDs(ctx, "SELECT id FROM ing_task_run_batch WHERE plan_id = ? AND id > ? ORDER BY id LIMIT ?", p.id, after, batchesAtOnce)
		if err != nil || len(batches) == 0 {
			return false, err
		}
		last := batches[len(batches)-1]
		waits, err := s.db.Exists(ctx, `SELECT 1 FROM ing_task_run_batch b JOIN ing_outbox_message o ON o.body_id >= b.id * ? AND o.body_id < (b.id + 1) * ?
  WHERE b.plan_id = ? AND b.id > ? AND b.id <= ? AND o.status_code NOT IN ('PUBLISHED','SKIPPED') LIMIT 1`, int64(bodies.MaxRecords), int64(bodies.MaxRecords), p.id, after, last)
		if waits || err != nil {
			return waits, err
		}
		after = last
	}
}
