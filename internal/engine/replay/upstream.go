package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// askUpstream asks the upstream for the page again, through the gate like any request
// (I11). An answer that is no success is an answer too: it differs.
func (a *again) askUpstream(ctx context.Context) (*exchange.Response, error) {
	if a.chain == nil {
		return nil, errOffline
	}
	if dead := a.Box.TokenDead(a.program, a.role, a.options.At); dead != "" {
		if !a.options.Refresh {
			return nil, fmt.Errorf("%w: page %d cannot be asked for again: %s; --refresh-expired walks there from the first page, with %d requests",
				fault.ErrInvalid, a.Box.Batch.Page, dead, a.Box.Batch.Page)
		}
		return a.walkToPage(ctx)
	}
	request, err := a.Box.Ask(a.program, a.role)
	if err != nil {
		return nil, fmt.Errorf("%w: the upstream cannot be asked again: %w", fault.ErrInvalid, err)
	}
	return a.sendRequest(ctx, request, nil)
}

// walkToPage reaches the page from the first one.
func (a *again) walkToPage(ctx context.Context) (*exchange.Response, error) {
	question, state, steps, err := a.Box.Walk(a.program, a.role)
	if err != nil {
		return nil, err
	}
	for page := 1; ; page++ {
		request, err := question.Page(state)
		if err != nil {
			return nil, err
		}
		request.Replayable = state.FirstPage()
		if page > steps {
			return a.sendRequest(ctx, request, nil)
		}
		var read *extract.Page
		answer, err := a.sendRequest(ctx, request, func(r *exchange.Response) (err error) {
			read, err = a.program.Page(r, a.program.Expect(a.Box.Window, a.options.At, 0))
			return err
		})
		if err != nil {
			return nil, err
		}
		if read == nil {
			return answer, nil // an error, long before the page: that is what the upstream says now
		}
		said := read.Says
		said.New = said.Items
		decision := a.program.Paging.Advance(state, said)
		if decision.Done || decision.Err != nil {
			a.report.Note(fmt.Sprintf("the list ends with page %d today", page))
			return answer, nil
		}
		state = decision.Next
	}
}

// sendRequest makes one request. Only an upstream that gives no answer at all is an error.
func (a *again) sendRequest(ctx context.Context, request *exchange.Request, accept func(*exchange.Response) error) (*exchange.Response, error) {
	p := readingProgram(a.program, a.role)
	limits := a.program.Rate // of the first step for both, as a run has it (I11)
	if p.Rate.Group != limits.Group {
		limits = p.Rate
	}
	request.Correlate(a.Box.Keys.Correlation + "-replay") // nobody takes it for the harvest (§12.6)
	var got *exchange.Response
	call := &transport.Call{
		Request: request, Key: limits.Key(a.program.Source), Limits: limits, Retry: p.Retry, Priority: a.program.Priority(),
		Accept: func(r *exchange.Response) error {
			if got = r; accept != nil {
				return accept(r)
			}
			return nil
		},
		Weigh: func(r *exchange.Response, f *fault.Error) *fault.Error {
			got = r
			return p.Weigh(r, f)
		},
	}
	_, err := a.chain.Do(ctx, call)
	a.report.Requests += call.Notes.Requests()
	var f *fault.Error
	if err != nil && got != nil && ctx.Err() == nil && errors.As(err, &f) && f.Code != fault.RateLimited && f.Code != fault.Unauthorized {
		return got, nil
	}
	if err != nil {
		return nil, err
	}
	return got, nil
}

// readingProgram returns the part of a program whose endpoint is asked.
func readingProgram(p *spec.Program, r blackbox.Role) *spec.Program {
	if r.AsksDetail() && p.Detail != nil {
		return p.Detail
	}
	return p
}
