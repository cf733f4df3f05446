package planner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Parents are the stored records that are the parts of a list, when a plan is drawn.
type Parents struct {
	Until *time.Time // the watermark of their own harvest: beyond it nobody knows all of them; nil: they were never read
	// Unbegun says that no harvest of the list was planned yet; only a BACKFILL asks.
	Unbegun bool
	Runs    int       // into how many runs they are divided
	Began   time.Time // clock of the store before they were looked at
	Known   time.Time // those that were surely there then have been read; zero: nothing was
	// ReadTo is up to where all of them were read then, by the dates of the list; zero: not known. Lags are who owes something.
	ReadTo   time.Time
	Still    []string // those that are new still, although they came before
	Settling time.Duration
	Lags     []sector.Lag
}

// readParents reads how the parents of a list stand.
func (p *Planner) readParents(ctx context.Context, s spec.Snapshot, own ingest.Namespace) (*Parents, error) {
	if s.Parent == nil || traitsOf(s.Operation).asksByID {
		return nil, nil
	}
	if s.LacksParent() { // without it nobody would know how far the window may go
		return nil, fmt.Errorf("%w: the partitions of %s/%s are records of %s, but how that source is harvested is not known here: plan with the database (--db) to which both sources are applied", fault.ErrInvalid, s.Source, s.Endpoint, s.Parent)
	}
	var out Parents
	var err error
	if out.Began, err = p.store.Now(ctx); err != nil {
		return nil, err
	}
	read, known, err := p.store.CoverageState(ctx, s.Parent.Namespace)
	if err != nil {
		return nil, err
	}
	if known && !read.Cursor.IsZero() {
		out.Until = &read.Cursor
	}
	was, err := p.store.ParentsKnown(ctx, own)
	if err != nil {
		return nil, err
	}
	out.Known, out.ReadTo, out.Still, out.Settling = was.AsOf, was.To, was.Still, cmp.Or(p.Settling, slicing.Settling)
	if !out.Known.IsZero() {
		out.Known = out.Known.Add(-out.Settling)
	}
	n, err := p.store.CountParents(ctx, s.Parent.Dataset())
	out.Runs = sector.RunsFor(n)
	return &out, err
}

// unread returns why nothing can be planned for parents that nobody has read; empty if they were.
func (b Inputs) unread(s spec.Snapshot) string {
	if b.Parents == nil || b.Parents.Until != nil {
		return ""
	}
	return fmt.Sprintf("its parts are the records of %s, which was not harvested yet: patra harvest %s --endpoint %s", s.Parent, s.Parent.Source, s.Parent.Endpoint)
}

// unbegun returns why a backfill cannot be planned before the harvest of the list has begun; empty if it has. Parents that come behind
// the backfill are read from their beginning by the harvest, and it knows only those as new that came after it began.
func (b Inputs) unbegun(s spec.Snapshot) string {
	if b.Parents == nil || !b.Parents.Unbegun {
		return ""
	}
	return fmt.Sprintf("its parts are the records of %s, and those that come later are read from their beginning by the harvest, which has not begun: patra harvest %s --endpoint %s", s.Parent, s.Source, s.Endpoint)
}

// until returns the earlier of where a window was to end and where the parents are known; nil: nobody bounds it.
func (b Inputs) until(to *time.Time) *time.Time {
	if b.Parents == nil || b.Parents.Until == nil || to != nil && to.Before(*b.Parents.Until) {
		return to
	}
	return b.Parents.Until
}

// behindParents returns why nothing can be planned from an instant on, where the parents are known up to an earlier one.
func (b Inputs) behindParents(s spec.Snapshot, from *time.Time) string {
	if b.Parents == nil || b.Parents.Until == nil || from == nil || from.Before(*b.Parents.Until) {
		return ""
	}
	return fmt.Sprintf("it would begin at %s, and the records of %s, which are its parts, are known up to %s only", window.Text(*from), s.Parent, window.Text(*b.Parents.Until))
}

// waitsForParents returns the total of a plan that has to wait for its parents; ok is false if it need not.
func (b Inputs) waitsForParents(s spec.Snapshot, r Request) (window.Total, bool) {
	why := b.unread(s)
	if why == "" {
		why = b.behindParents(s, r.From)
	}
	if earliest, err := s.Window.EarliestInstant(); why == "" && err == nil {
		why = b.behindParents(s, earliest)
	}
	if why == "" {
		return window.Total{}, false
	}
	return window.NothingYet(r.Now, why), true
}

// openingOf returns what a HARVEST does about parents that are new; nil: none are looked for.
func (d *drawing) openingOf(c *spec.Compiled, b Inputs) *slicing.Opening {
	full := sector.OwedByAll(d.owed, d.narrowed)
	if b.Parents == nil || c.Snapshot.ReadsWhole() || !traitsOf(c.Snapshot.Operation).followsPresent || len(full) == 0 {
		return nil
	}
	o := &slicing.Opening{Began: b.Parents.Began, From: b.Own.Origin, At: full[len(full)-1].To}
	if at, err := c.Snapshot.Window.EarliestInstant(); err == nil && at != nil {
		o.From = *at
	}
	if o.To = o.At; len(b.Own.Segments) > 0 {
		o.To = window.Later(o.To, b.Own.Segments[len(b.Own.Segments)-1].Window.To)
	}
	o.After, o.Still = b.Parents.Known, b.Parents.Still
	o.Picked = pickedOf(c.Snapshot, b, o.To)
	return o
}

// readLaggingParents reads who owes something, where parents that do not may be left out.
func (p *Planner) readLaggingParents(ctx context.Context, s spec.Snapshot, own ingest.Namespace, b *Inputs) (err error) {
	if b.Parents == nil || !s.AsksChanged() {
		return nil
	}
	if b.Parents.Lags = b.Lags; !s.NarrowsSectors() {
		b.Parents.Lags, err = p.store.SectorLags(ctx, own)
	}
	return err
}

// pickedOf returns which parents a HARVEST that reads up to an instant asks for, where those that did not change are left out; nil:
// all of them, because the source does not say that they change, or nobody knows how far they were read. A change counts until
// the list was read behind it, and what a lookback expects to come late with it: a parent may be known to have changed at an
// instant that windows have not come to yet.
func pickedOf(s spec.Snapshot, b Inputs, to time.Time) *slicing.Picked {
	if !s.AsksChanged() || b.Parents.ReadTo.IsZero() || b.Parents.Known.IsZero() {
		return nil
	}
	_, from := sector.Parent(s.Partitions)
	after := window.Earlier(b.Parents.Known, b.Parents.ReadTo.Add(-b.Parents.Settling))
	return &slicing.Picked{
		After: after.Add(-s.Window.Lookback.Std()), Turns: window.Window{From: b.Parents.ReadTo, To: to},
		Sweep: from.Cycle(), Lookback: s.Window.Lookback, From: b.Own.Origin,
	}
}

// choiceOf returns where a plan asks for picked parents only: in time that was read for all of them before, and beyond what was
// read of any. Whatever was not read, or is to be read again because it failed, is asked of all. So is what a person names.
func (d *drawing) choiceOf(b Inputs, r Request) *slicing.Choice {
	if d.opens == nil || d.opens.Picked == nil || r.From != nil {
		return nil
	}
	out := &slicing.Choice{Picked: *d.opens.Picked}
	for _, seg := range b.Own.Segments {
		if !seg.Have.IsZero() && !seg.Have.Before(seg.Want) {
			out.Within = append(out.Within, seg.Window)
		}
	}
	if fresh := (window.Window{From: out.Turns.From, To: d.opens.To}); !fresh.Empty() {
		out.Within = append(out.Within, fresh)
	}
	out.Within = window.Union(out.Within)
	for _, l := range b.Parents.Lags {
		out.Lags = append(out.Lags, slicing.Owing{Sector: l.Sector, Window: l.Window})
	}
	return out
}

// storedParents are what a plan keeps to be cut further as it began.
type storedParents struct {
	Runs  int              `json:"runs,omitempty"`
	Opens *slicing.Opening `json:"opens,omitempty"`
	Picks *slicing.Choice  `json:"picks,omitempty"`
}

// parentsOf returns how a stored plan divides its parents.
func parentsOf(o ingest.OpenPlan) (out storedParents, err error) {
	if len(o.Params) > 0 {
		err = json.Unmarshal(o.Params, &out)
	}
	return out, err
}
