package planner

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// checkClock refuses to plan where the clock of the database and what was read do not agree.
func (p *Planner) checkClock(ctx context.Context, c *spec.Compiled, now time.Time, covered coverage.State) error {
	clock, err := p.checkNotAhead(ctx, now)
	if err != nil {
		return err
	}
	return p.checkNotSetBack(ctx, c, covered, clock)
}

// checkDraftClock refuses to draw what checkClock would refuse to store: without a word a draft
// would say that there is nothing to do. A draft may look ahead, to when the time has come.
func (p *Planner) checkDraftClock(ctx context.Context, c *spec.Compiled, now time.Time, covered coverage.State) error {
	clock, err := p.store.Now(ctx)
	if err != nil {
		return err
	}
	return p.checkNotSetBack(ctx, c, covered, window.Later(clock, now))
}

// checkNotAhead refuses to plan for a time that has not come: it would count as read
// for ever and would not be asked for again. It returns what the clock says.
func (p *Planner) checkNotAhead(ctx context.Context, now time.Time) (clock time.Time, err error) {
	clock, err = p.store.Now(ctx)
	if err == nil && window.Instant(now).After(clock) {
		err = fmt.Errorf("%w: cannot store a plan for %s, the database's clock says %s; --dry-run may look ahead",
			fault.ErrInvalid, window.Text(now), window.Text(clock))
	}
	return clock, err
}

// checkNotSetBack refuses to plan behind what was planned or read as of a later time than
// it is. Either the clock is wrong now, and a plan would be for the wrong time; or it was
// ahead, and then all up to there counts as read although it had not happened yet. Without
// a word the harvest would find nothing to read until that time has come, and go on behind
// it: a silent hole (I2).
func (p *Planner) checkNotSetBack(ctx context.Context, c *spec.Compiled, covered coverage.State, clock time.Time) error {
	if !traitsOf(c.Snapshot.Operation).followsPresent {
		return nil
	}
	ahead, found := covered.Ahead(clock)
	if !found {
		return nil
	}
	id, err := p.watermarkOf(ctx, c)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: the database's clock says %s, and %s was planned or read as of %s already: the clock is wrong now, or it was ahead. "+
		"If it is wrong now, set it right: nothing is lost. If it was ahead, items that came since then count as read and are not: "+
		"`%s` has them read. Give an earlier --to if the clock was wrong before that",
		fault.ErrInvalid, window.Text(clock), c.Snapshot.Source, window.Text(ahead.AsOf), view.SetCursorCommand(id, ahead.From))
}

// watermarkOf returns the number of the watermark of what is harvested.
func (p *Planner) watermarkOf(ctx context.Context, c *spec.Compiled) (int64, error) {
	at, err := c.Namespace()
	if err != nil {
		return 0, err
	}
	all, err := p.store.Cursors(ctx, at.Source)
	for _, one := range all {
		if one.IsAt(at) {
			return one.ID, err
		}
	}
	return 0, err
}
