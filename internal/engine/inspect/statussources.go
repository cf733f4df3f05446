package inspect

import (
	"context"
	"errors"
	"slices"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// sourceLook is what was read of a source.
type sourceLook struct {
	endpoints []endpointLook
	wrong     view.FindingCode // why its gaps are unknown; empty: they are known
	err       error            // with wrong: what went wrong
}

// endpointLook is what was read of an endpoint that can be harvested.
type endpointLook struct {
	covered EndpointCoverage
	line    *view.SourceStatus // nil: nothing was ever expected of it
}

// addSources adds sources in the order of their codes. They are read some at a time, because
// most of that is waiting for the database.
func (s *statusBuilder) addSources(ctx context.Context, codes []string, cursors []view.Cursor) error {
	looks, defined := make([]sourceLook, len(codes)), make([]definedSource, len(codes))
	s.eachTogether(len(codes), func(n int) {
		defined[n].code = codes[n]
		var err error
		if defined[n].endpoints, defined[n].wrong, err = s.from.Outlines.EndpointsOf(ctx, codes[n]); err != nil { // it can no longer be planned; what is known of it is shown
			looks[n] = sourceLook{wrong: view.FoundUnreadable, err: err}
		}
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := s.readCoverageAhead(ctx, defined, cursors); err != nil {
		return err
	}
	s.eachTogether(len(codes), func(n int) {
		if looks[n].err == nil {
			looks[n] = s.lookAt(ctx, defined[n], cursors)
		}
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for n, look := range looks {
		for _, e := range look.endpoints {
			s.addEndpoint(e)
		}
		if look.err != nil { // one source that cannot be computed never hides the others
			s.addUnknown(look.wrong, codes[n], look.err, cursors)
		}
	}
	return nil
}

// lookAt reads how the endpoints of a source stand. What was read before something went wrong
// is returned beside it.
func (s *statusBuilder) lookAt(ctx context.Context, src definedSource, cursors []view.Cursor) (out sourceLook) {
	own := slices.DeleteFunc(slices.Clone(cursors), func(c view.Cursor) bool { return c.Source != src.code })
	covered, err := s.coverageAt(ctx, src, own, s.report.Now)
	if errors.As(err, &unplannable{}) {
		return sourceLook{wrong: view.FoundUnplannable, err: err}
	}
	if err != nil {
		return sourceLook{wrong: view.FoundUncomputable, err: err}
	}
	for _, b := range covered.All {
		look := endpointLook{covered: b}
		if b.Expected() {
			if look.line, err = s.lineOf(ctx, b); err != nil {
				out.wrong, out.err = view.FoundUncomputable, err
				return out
			}
		}
		out.endpoints = append(out.endpoints, look)
	}
	return out
}

// lineOf reads how an endpoint stands.
func (s *statusBuilder) lineOf(ctx context.Context, b EndpointCoverage) (*view.SourceStatus, error) {
	one := &view.SourceStatus{Source: b.Source, Endpoint: b.Endpoint, CursorID: b.Cursor.ID, FreshTo: b.Cursor.Instant, Gaps: []view.Gap{}}
	if !one.FreshTo.IsZero() {
		one.LagSec = s.report.Now.Sub(one.FreshTo).Seconds()
	}
	r, err := b.Range(RangeQuery{})
	if err != nil {
		return nil, err
	}
	gaps := b.Gaps(r.Window, true)
	if len(gaps) == 0 {
		return one, nil
	}
	open, err := s.Open(ctx, b)
	if err != nil {
		return nil, err
	}
	for _, g := range gaps {
		if len(window.Subtract(g.Window, open)) == 0 {
			one.InWork++
			continue
		}
		one.Gaps = append(one.Gaps, g)
		if g.Fails > 0 {
			one.Failed++
		}
	}
	if one.Failed > 0 && b.LastFailed != 0 {
		failed, err := s.from.Work.Tasks(ctx, view.Filter{TaskID: b.LastFailed, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(failed) > 0 {
			one.LastFailure = &failed[0]
		}
	}
	return one, nil
}

// addEndpoint adds what was read of an endpoint.
func (s *statusBuilder) addEndpoint(e endpointLook) {
	s.own[e.covered.dataset()] = e.covered.Asks.Alerts.Limits(s.limits)
	if e.line == nil {
		return
	}
	s.report.Sources = append(s.report.Sources, *e.line)
	s.findGaps(*e.line)
	s.findAhead(e.covered)
	s.keepMark(e.covered)
}
