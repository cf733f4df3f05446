// Package estimate tells how many items windows hold, so that the planner can
// cut slices of the right size: it asks the upstream for its count, else looks
// at what earlier slices had, else reads a first page, else takes the declared
// assumption (S§5.3, D§5.10).
//
// Every question to an upstream takes its permit like any other request (I11).
// What nobody can tell it leaves out; it never guesses.
package estimate

import (
	"context"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// History is what earlier slices had.
type History interface {
	WindowHistory(ctx context.Context, d ingest.Dataset, exprHash string, within window.Window, limit int) ([]ingest.WindowCount, error)
}

// Estimator looks sizes up.
type Estimator struct {
	Chain   transport.Doer
	History History
	Now     func() time.Time
}

// Estimate finds the sizes of windows, each from the best source that knows it. An
// upstream that is down is tried for one window, not for each of hundreds: its plan
// would stand still for hours.
func (e *Estimator) Estimate(ctx context.Context, c *spec.Compiled, windows []window.Window, offline bool) (planner.Estimates, error) {
	program, err := c.Snapshot.Program()
	if err != nil {
		return nil, err
	}
	hash, err := c.Prototype.Hash()
	if err != nil {
		return nil, err
	}
	out := planner.Estimates{}
	for _, w := range windows {
		found, ok, err := e.estimateOne(ctx, program, hash, w, &offline)
		if err != nil {
			return nil, err
		}
		if ok {
			out[w] = found
		}
	}
	return out, nil
}

func (e *Estimator) estimateOne(ctx context.Context, p *spec.Program, hash string, w window.Window, offline *bool) (slicing.Estimate, bool, error) {
	var sample slicing.Estimate
	sampled := false
	if !*offline {
		found, ok, down, err := e.askUpstream(ctx, p, w)
		*offline = down
		if ok && found.Exact || err != nil {
			return found, ok, err
		}
		sample, sampled = found, ok // history knows better than a page (S§5.3)
	}
	if found, ok, err := e.askHistory(ctx, p, hash, w); ok || err != nil {
		return found, ok, err
	}
	if sampled {
		return sample, true, nil
	}
	assumed, ok := p.Slicing.Assume(w)
	return assumed, ok, nil
}

// askHistory tells what earlier slices of a window had. A list that is read whole has what its last reading before the window
// had: its windows are the times between readings, and say nothing of its size.
func (e *Estimator) askHistory(ctx context.Context, p *spec.Program, hash string, w window.Window) (found slicing.Estimate, ok bool, err error) {
	if e.History == nil {
		return found, false, nil
	}
	within := w
	if p.ReadsWhole() {
		within = window.Window{From: w.From.Add(-2 * p.Whole.Every.Std()), To: w.From}
	}
	past, err := e.History.WindowHistory(ctx, p.Dataset(), hash, within, maxHistory)
	if err != nil {
		return found, false, err
	}
	if p.ReadsWhole() {
		if len(past) == 0 {
			return found, false, nil
		}
		last := slices.MaxFunc(past, func(a, b ingest.WindowCount) int { return a.AsOf.Compare(b.AsOf) })
		return slicing.Estimate{Count: last.Actual, Source: slicing.FromHistory}, true, nil
	}
	count, covered := ingest.EstimateFrom(past, w)
	if covered < enoughHistory {
		return found, false, nil
	}
	return slicing.Estimate{Count: int64(float64(count)/covered + 0.5), Source: slicing.FromHistory}, true, nil
}

const (
	maxHistory    = 1000
	enoughHistory = 0.5 // share of a window that history must cover to speak for it
)

// askUpstream has the upstream count: by the total it announces, or by a first page that
// is also the last. A source that does not answer now is not counted; the plan
// goes on with what else is known; down says that no other window would be answered.
func (e *Estimator) askUpstream(ctx context.Context, p *spec.Program, w window.Window) (found slicing.Estimate, ok, down bool, err error) {
	if !p.CanAsk(w) {
		return found, false, false, nil // no one request is about all of it
	}
	question, err := p.Ask(w, e.Now())
	if err != nil {
		return found, false, false, fault.New(fault.Render, err)
	}
	counts := !p.Response.Total.IsZero()
	request, err := question.First(counts)
	if err != nil {
		return found, false, false, fault.New(fault.Render, err)
	}
	var page *extract.Page
	_, err = e.Chain.Do(ctx, &transport.Call{
		Request: request, Key: p.Rate.Key(p.Source), Limits: p.Rate, Retry: p.Retry,
		SaysEmpty: p.SaysEmpty,
		Accept: func(response *exchange.Response) (err error) {
			page, err = p.Page(response, p.Expect(w, time.Time{}, 0))
			return err
		},
	})
	switch {
	case ctx.Err() != nil:
		return found, false, false, context.Cause(ctx)
	case err != nil && fault.As(err).Level == fault.Fatal:
		return found, false, false, err
	case err != nil:
		code := fault.As(err).Code
		return found, false, code == fault.Network || code == fault.ServerError || code == fault.RequestLimit, nil
	case page.Says.Total != nil:
		return slicing.Estimate{Count: *page.Says.Total, Source: slicing.FromCount, Exact: p.CountsWindow()}, true, false, nil
	}
	whole := !counts || p.Paging.FixedSize // the page was not asked for as a small one
	if d := p.Paging.Advance(p.Paging.First(), page.Says); whole && d.Done {
		return slicing.Estimate{Count: int64(page.Says.Items - page.Nulls), Source: slicing.FromFirstPage, Exact: p.CountsWindow()}, true, false, nil
	}
	count, ok := extrapolatePage(page, p, w)
	return slicing.Estimate{Count: count, Source: slicing.FromFirstPage}, ok, false, nil
}

// extrapolatePage takes the first page of a sorted source for a sample: as dense as
// it is, so is the rest of the window (S§5.3).
func extrapolatePage(page *extract.Page, p *spec.Program, w window.Window) (int64, bool) {
	read := page.Reached.Sub(w.From)
	if p.Window.Order == window.Descending { // its first page is the newest
		read = w.To.Sub(page.Lowest)
	}
	if !p.Window.Ordered || page.Seen == 0 || read <= 0 || page.Reached.After(w.To) {
		return 0, false
	}
	return int64(float64(page.Seen) * float64(w.Duration()) / float64(read)), true
}
