package httpapi

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/view"
)

// findCursor reads a cursor that the caller may see.
func (a *api) findCursor(ctx context.Context, who access.Caller, id int64) (view.Cursor, error) {
	c, err := a.showCursor(ctx, id)
	if err == nil && !who.Sees(c.Source) {
		return view.Cursor{}, errUnseen("cursor", id)
	}
	return c, err
}

// showCursor reads a cursor, and says which one where that fails, as the command line does.
func (a *api) showCursor(ctx context.Context, id int64) (view.Cursor, error) {
	c, err := a.Cursors.Show(ctx, id)
	if err != nil {
		err = fmt.Errorf("cursor %d: %w", id, err)
	}
	return c, err
}

func (a *api) registerCursors() {
	get(a, viewer("list-cursors", "/v1/cursors", "cursors", "How far each source was read"),
		func(ctx context.Context, who access.Caller, in *OfSource) (view.List[view.Cursor], error) {
			if in.Source != "" && !who.Sees(in.Source) {
				return view.List[view.Cursor]{}, errUnseen("source", in.Source)
			}
			all, err := a.Cursors.List(ctx, in.Source)
			return view.Whole(keepSeen(who, all, func(c view.Cursor) string { return c.Source })), err
		})
	show(a, viewerOne("show-cursor", "/v1/cursors/{id}", "cursors", "One cursor"), "cursor", func(c view.Cursor) string { return c.Source }, a.showCursor)
	type timelineIn struct {
		ByID
		Page
		From time.Time `query:"from" doc:"First instant, included."`
		To   time.Time `query:"to" doc:"Last instant, not included; default: now."`
	}
	get(a, viewerOne("cursor-timeline", "/v1/cursors/{id}/timeline", "cursors", "What moved a cursor between two instants, oldest first"),
		func(ctx context.Context, who access.Caller, in *timelineIn) (out view.List[view.CursorEvent], err error) {
			c, err := a.findCursor(ctx, who, in.ID)
			if err != nil {
				return out, err
			}
			after, err := in.before()
			if err != nil {
				return out, err
			}
			if in.To.IsZero() {
				if in.To, err = a.Stats.Now(ctx); err != nil {
					return out, err
				}
			}
			rows, err := a.Cursors.ListTimeline(ctx, c, in.From, in.To, after, in.Limit+1)
			return view.Paged(rows, in.Limit, func(e view.CursorEvent) string { return strconv.FormatInt(e.ID, 10) }), err
		})
	type partIn struct {
		ByID
		Page
	}
	get(a, viewerOne("cursor-segments", "/v1/cursors/{id}/coverage", "cursors", "Which time was read, is owed, failed or was waived"),
		func(ctx context.Context, who access.Caller, in *partIn) (out view.List[coverage.Segment], err error) {
			if _, err = a.findCursor(ctx, who, in.ID); err != nil {
				return out, err
			}
			rows, err := a.Cursors.ListSegments(ctx, in.ID)
			if err != nil {
				return out, err
			}
			return pageOfRanges(rows, in.Page, func(s coverage.Segment) string { return endOf(s.Window) })
		})
	get(a, viewerOne("cursor-readings", "/v1/cursors/{id}/readings", "cursors", "Readings of a list that is read whole, the newest first"),
		func(ctx context.Context, who access.Caller, in *partIn) (out view.List[view.WholeReading], err error) {
			if _, err = a.findCursor(ctx, who, in.ID); err != nil {
				return out, err
			}
			before, err := in.before()
			if err != nil {
				return out, err
			}
			rows, err := a.Cursors.ListReadings(ctx, in.ID, before, in.Limit+1)
			return view.Paged(rows, in.Limit, func(r view.WholeReading) string { return strconv.FormatInt(r.ID, 10) }), err
		})
	get(a, viewerOne("verify-cursor", "/v1/cursors/{id}/verdict", "cursors", "Whether a cursor is what its events say"),
		func(ctx context.Context, who access.Caller, in *ByID) (out view.Verdict, err error) {
			if _, err = a.findCursor(ctx, who, in.ID); err != nil {
				return out, err
			}
			return a.Cursors.Verify(ctx, in.ID)
		})
}
