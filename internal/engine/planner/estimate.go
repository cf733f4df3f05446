package planner

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Estimator finds out how many items windows hold (D§5.10). What it cannot tell
// it leaves out; offline it asks no upstream.
type Estimator interface {
	Estimate(ctx context.Context, c *spec.Compiled, windows []window.Window, offline bool) (Estimates, error)
}

// Rehearse draws a plan as for an empty database.
func Rehearse(ctx context.Context, c *spec.Compiled, r Request, e Estimator) (*Draft, error) {
	d, err := (&Planner{Estimator: e}).drawSized(ctx, c, Inputs{}, r)
	return d.answerOrNil(), err
}

// Estimates are sizes of windows as they are asked for.
type Estimates map[window.Window]slicing.Estimate

// sizeOf returns the size of a window, if it is known.
func (e Estimates) sizeOf(w window.Window) (slicing.Estimate, bool) {
	found, ok := e[w]
	return found, ok
}

// Planning asks at most this often and for this many sizes: a plan must not cost
// the upstream more than the reading it saves.
const (
	maxRounds    = 64
	maxEstimates = 5_000
)

// drawSized draws a plan with the sizes that can be found out, and what it takes of the
// quotas.
func (p *Planner) drawSized(ctx context.Context, c *spec.Compiled, b Inputs, r Request) (*drawing, error) {
	d, err := p.drawUntilSized(ctx, c, r, func(r Request) (*drawing, error) { return drawPlan(c, b, r) })
	if err != nil {
		return nil, err
	}
	d.showRolled(b.Uses)
	d.forecastQuota(c.Snapshot, b.Uses)
	return d, nil
}

// drawUntilSized draws again and again until no size is wanted that somebody can tell.
// Every round is the same pure function of what is known by then.
func (p *Planner) drawUntilSized(ctx context.Context, c *spec.Compiled, r Request, draw func(Request) (*drawing, error)) (*drawing, error) {
	if p.Estimator == nil {
		return draw(r)
	}
	known, untold := Estimates{}, false
	r.Estimates = known
	for range maxRounds {
		d, err := draw(r)
		if err == nil {
			d.Untold = untold
		}
		if err != nil || len(d.wanted) == 0 || len(known) >= maxEstimates {
			return d, err
		}
		wanted := d.wanted[:min(len(d.wanted), maxEstimates-len(known))]
		offline := r.Offline || d.idle && !r.Count
		found, err := p.Estimator.Estimate(ctx, c, wanted, offline)
		if err != nil {
			return nil, err
		}
		news := 0
		for _, w := range wanted {
			if e, ok := found[w]; ok {
				known[w] = e
				news++
			}
		}
		untold = untold || !offline && news < len(wanted)
		if d.Untold = untold; news == 0 {
			return d, nil
		}
	}
	return draw(r)
}
