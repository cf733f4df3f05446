package planner

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// backfill reads a range of the past below the watermark of HARVEST (W§4): all that is
// left of it, or the next part of a stored campaign.
type backfill struct {
	compiled *spec.Compiled
	request  Request
	part     Part // the zero value is all of the range
}

var backfillTraits = traits{priority: "LOW", newestFirst: true}

func newBackfill(c *spec.Compiled, r Request) backfill {
	b := backfill{compiled: c, request: r}
	if r.Of != nil {
		b.part = *r.Of
	}
	return b
}

// Part is which part of a stored campaign a plan is for.
type Part struct {
	Namespace ingest.Namespace
	Chunk     time.Duration
	Order     ingest.CampaignOrder
	Taken     []window.Window // what its open plans are at
}

// ownNamespace returns that of the campaign. One that is not stored yet is known by its name,
// or else by its question and its range as it was asked for.
func (f backfill) ownNamespace() (ingest.Namespace, error) {
	forward, err := f.compiled.Namespace()
	if err != nil {
		return forward, err
	}
	s, r := f.compiled.Snapshot, f.request
	if r.Of != nil {
		return f.part.Namespace, nil
	}
	name := r.Campaign
	switch {
	case name != "":
	case r.Typed != "":
		name = fingerprint.Key(forward.Key, "typed", r.Typed)
	default:
		name = fingerprint.Key(forward.Key, boundText(r.From), boundText(r.To))
	}
	return ingest.CampaignNamespace(s.Dataset(), s.Filter.Field, name), nil
}

// readInputs reads the watermark of HARVEST on the same question.
func (f backfill) readInputs(ctx context.Context, from InputReader, _ ingest.Namespace, b *Inputs) error {
	forward, err := f.compiled.Namespace()
	if err != nil {
		return err
	}
	harvested, known, err := from.CoverageState(ctx, forward)
	if known && !harvested.Cursor.IsZero() {
		b.Forward = &harvested.Cursor
	}
	if err != nil || b.Parents == nil {
		return err
	}
	parents, err := from.ParentsKnown(ctx, forward)
	b.Parents.Unbegun = parents.AsOf.IsZero()
	return err
}

// totalWindow returns the chunk of what is left that is planned now.
func (f backfill) totalWindow(b Inputs) (window.Total, error) {
	total, err := f.leftWindow(b)
	if err != nil {
		return total, err
	}
	if f.compiled.Snapshot.OneSlice() {
		return f.takeAsOne(total), nil
	}
	return f.takeChunk(total), nil
}

// takeAsOne takes all that is owed in one go, because every chunk would bring the whole
// rest of the list again. What an open plan of the campaign reads stays its own.
func (f backfill) takeAsOne(total window.Total) window.Total {
	one := total.AsOne()
	for _, open := range f.part.Taken {
		if len(one.Owed) > 0 && one.Owed[0].Overlaps(open) {
			return total.Narrowed(total.Owed[:1])
		}
	}
	return one
}

// leftWindow returns all that is left of the range.
func (f backfill) leftWindow(b Inputs) (window.Total, error) {
	r := f.request
	if wait, waits := b.waitsForParents(f.compiled.Snapshot, r); waits {
		return wait, nil
	}
	if why := b.unbegun(f.compiled.Snapshot); why != "" {
		return window.NothingYet(r.Now, why), nil
	}
	return window.Backfill(f.compiled.Snapshot.Window, window.BackfillInputs{
		Now: r.Now, UserFrom: r.From, UserTo: b.until(r.To), Forward: b.Forward, Cursor: b.watermarkOrNil(), Waiting: b.waitingWindows(r), Taken: f.part.Taken, Done: b.doneWindows(),
	})
}

// takeChunk narrows what is owed to a chunk, from the end the campaign begins at. Cuts
// lie on the grid of the upstream's filter and on the calendar of the source, so
// that no day is asked for twice.
func (f backfill) takeChunk(total window.Total) window.Total {
	if f.part.Chunk <= 0 || total.Empty || len(total.Owed) == 0 {
		return total
	}
	s := f.compiled.Snapshot
	cut := slicingRequest(s, total.Owed)
	cut.NewestFirst = !f.oldestFirst()
	if grid := cut.Grid; s.Window.Mode == window.Calendar {
		cut.Grid = func(at time.Time) time.Time { return grid(window.FloorAlign(at, s.Window.Align)) }
	}
	now, _ := cut.PartByLength(f.part.Chunk)
	return total.Narrowed(now)
}

// oldestFirst reports whether the campaign begins at the old end of its range.
func (f backfill) oldestFirst() bool { return f.part.Order == ingest.OldestFirst }

// planLag returns none: a backfill stays below the watermark of HARVEST.
func (f backfill) planLag(window.Lag, Inputs) *ingest.PlanLag { return nil }

// cutSlices cuts by time, from the end the campaign begins at.
func (f backfill) cutSlices(d *drawing, _ Inputs) error {
	d.oldest = f.oldestFirst()
	return d.cutTime(f.compiled.Snapshot, f.compiled.Prototype.Selection, f.request.Estimates)
}
