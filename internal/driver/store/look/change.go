package look

import (
	"context"
	"math"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// MostLooked is how many versions one question looks at, whatever it finds: those of other
// endpoints stand between those that are wanted.
const MostLooked = 10_000

// lookedAtOnce is how many versions are read in one query (D§5.20).
const lookedAtOnce = 1000

// disorder is how far batches may stand apart from the order of time: a batch has the instant
// at which its transaction began, and a number when its row was written.
const disorder = time.Minute

// Changes reads versions of an endpoint in the order in which they were stored, without their
// content. next is where to go on; 0: there is nothing more. It may find less than was
// wanted, or nothing, and have more: the work of one question is bounded.
//
// A version whose batch has left the database counts by when it was fetched.
func (s *Look) Changes(ctx context.Context, d view.Dataset, q view.Changes) (out []view.Change, next int64, err error) {
	after, upto, err := s.changedBetween(ctx, q)
	if err != nil {
		return nil, 0, kernel.Wrap("list changes", s.db.Translate(err))
	}
	for looked := 0; looked < MostLooked; {
		page, reached, end, err := bodies.ReadRange(s.db.Ask(ctx), bodies.Range{After: after, Upto: upto, Most: lookedAtOnce, Part: bodies.KeyPart})
		if err != nil {
			return nil, 0, kernel.Wrap("list changes", s.db.Translate(err))
		}
		looked += max(1, len(page))
		found, err := s.changesOf(ctx, d, q, page)
		if err != nil {
			return nil, 0, kernel.Wrap("list changes", s.db.Translate(err))
		}
		if room := q.Limit - len(out); len(found) > room {
			out = append(out, found[:room]...)
			return out, out[len(out)-1].Body, nil
		}
		out, after = append(out, found...), reached
		if end {
			return out, 0, nil
		}
		if len(out) == q.Limit {
			break
		}
	}
	return out, after, nil
}

// changedBetween returns which versions may be of the time that is asked for: those behind one,
// up to another.
func (s *Look) changedBetween(ctx context.Context, q view.Changes) (after, upto int64, err error) {
	after, upto = max(q.Behind, 0), math.MaxInt64-1
	if !q.Since.IsZero() && q.Behind == 0 {
		last, _, err := s.batchesAt(ctx, q.Since.Add(-disorder))
		if err != nil {
			return 0, 0, err
		}
		after = bodies.ID(last+1, 0) - 1
	}
	if !q.Until.IsZero() {
		_, first, err := s.batchesAt(ctx, q.Until.Add(disorder))
		if err != nil {
			return 0, 0, err
		}
		if first != 0 {
			upto = bodies.ID(first, 0) - 1
		}
	}
	return after, upto, nil
}

// batchesAt finds the last batch that was stored before an instant and the first one since; 0:
// there is none. Batches are stored in the order of time, so that their primary key is enough:
// each step asks for one row. Between the two there may be numbers of batches that have
// left the database.
func (s *Look) batchesAt(ctx context.Context, at time.Time) (last, first int64, err error) {
	var newest int64
	there, err := kernel.Found(s.db.QueryRow(ctx, "SELECT id FROM ing_task_run_batch ORDER BY id DESC LIMIT 1").Scan(&newest))
	if err != nil || !there {
		return 0, 0, err
	}
	for end := newest + 1; end-last > 1; {
		middle := last + (end-last)/2
		var id, stored int64
		there, err := kernel.Found(s.db.QueryRow(ctx, "SELECT id, created_at FROM ing_task_run_batch WHERE id >= ? AND id < ? ORDER BY id LIMIT 1", middle, end).Scan(&id, &stored))
		switch {
		case err != nil:
			return 0, 0, err
		case there && stored < at.UnixMicro():
			last = id
		case there:
			end, first = middle, id
		default:
			end = middle
		}
	}
	return last, first, nil
}

// changesOf keeps the versions of a dataset that were stored in the time that is asked for, and
// adds what their records and events tell.
func (s *Look) changesOf(ctx context.Context, d view.Dataset, q view.Changes, page []bodies.Stored) (out []view.Change, err error) {
	mine := make([]bodies.Stored, 0, len(page))
	for i := range page {
		if page[i].Dataset == d.ID {
			mine = append(mine, page[i])
		}
	}
	stored, err := BatchTimes(s.db.Ask(ctx), mine)
	if err != nil {
		return nil, err
	}
	kept := mine[:0]
	for i := range mine {
		at, known := stored[mine[i].ID>>bodies.Bits]
		if !known {
			at = mine[i].Fetched
		}
		if (q.Since.IsZero() || at >= q.Since.UnixMicro()) && (q.Until.IsZero() || at < q.Until.UnixMicro()) {
			if kept = append(kept, mine[i]); len(kept) > q.Limit {
				break // one more than is wanted says that there is more
			}
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	heads, err := ReadHeads(d.ID, kept, func(b *bodies.Stored) *record.Key { return &b.Record }, s.db.Ask(ctx))
	if err != nil {
		return nil, err
	}
	said, err := s.eventsOfBodies(ctx, kept[0].ID-1, kept[len(kept)-1].ID)
	if err != nil {
		return nil, err
	}
	for i := range kept {
		b := &kept[i]
		head := heads[b.Record]
		if head == nil || head.BodyID < b.ID {
			return nil, b.Damaged("its record is missing or says that it has an older version")
		}
		if err := bodies.CheckHead(b.Record, head.ProviderID, string(head.State)); err != nil {
			return nil, err
		}
		c := view.Change{ID: head.ProviderID, Version: int(b.Version), UpdatedAt: b.UpdatedAt(), FetchedAt: b.FetchedAt(), BatchID: b.ID >> bodies.Bits, Body: b.ID}
		if c.State = string(head.State); head.BodyID != b.ID {
			c.State = view.StateOf(c.Version, event.Op(said[b.ID]))
		}
		if at, known := stored[c.BatchID]; known {
			c.StoredAt = time.UnixMicro(at).UTC()
		}
		out = append(out, c)
	}
	return out, nil
}
