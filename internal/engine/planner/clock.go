package planner

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// checkClock refuses to plan where the clock of the database and what was read do not agree.
func (p *Planner) checkClock(ctx context.Context, c *spec.Compiled, now time.Time, covered coverage.State) error {
	clock, err := p.checkNotAhead(ctx, now)
	if err != nil || !traitsOf(c.Snapshot.Operation).followsPresent {
		return err
	}
	return checkNotSetBack(c.Snapshot.Source, covered, clock)
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
func checkNotSetBack(source string, covered coverage.State, clock time.Time) error {
	latest := covered.LatestAsOf()
	if !window.LiesAhead(latest, clock) {
		return nil
	}
	return fmt.Errorf("%w: the database's clock says %s, and %s was planned or read as of %s already: the clock is wrong now, or it was ahead. "+
		"If it is wrong now, set it right: nothing is lost. If it was ahead, items that came since then count as read and are not: "+
		"`patra cursor list %s` tells the ID of the watermark, and `patra cursor set ID --to INSTANT --reason TEXT`, with an instant before the clock was wrong, reads them",
		fault.ErrInvalid, window.Text(clock), source, window.Text(latest), source)
}
