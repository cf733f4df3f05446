package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Evidence gives what upstreams answered, and does batches again without writing.
type Evidence interface {
	// Body gives the kept answer of a batch. The audit log has the read before the answer
	// leaves the house.
	Body(ctx context.Context, batch int64, by ingest.Act) ([]byte, error)
	// Replay reads a batch again: from its kept body, or by asking the upstream; under the
	// settings of then, or those of now. The audit log has who does it.
	Replay(ctx context.Context, batch int64, upstream, now bool, by ingest.Act) (*blackbox.Report, error)
	// ReplayAll reads batches of a run or a task again from their kept bodies, newest first.
	ReplayAll(ctx context.Context, f view.Filter, now bool, by ingest.Act) (blackbox.Replayed, error)
}

// replayIn is how a batch is done again.
type replayIn struct {
	ByID
	Body struct {
		Upstream bool `json:"upstream,omitempty" doc:"Ask the upstream again instead of reading the kept body: sends a request."`
		Now      bool `json:"now,omitempty" doc:"Read it under the settings of now instead of those of then."`
	}
}

// replayAllIn is how the batches of a run or a task are done again, some at a time.
type replayAllIn struct {
	ByID
	Limit  int    `query:"limit" default:"20" minimum:"1" maximum:"100" doc:"Batches of one answer."`
	Cursor string `query:"cursor" maxLength:"32" doc:"Where it goes on: next of the answer before it."`
	Body   struct {
		Now bool `json:"now,omitempty" doc:"Read them under the settings of now instead of those of then."`
	}
}

func (a *api) registerEvidence() {
	raw := reader("read-body", "/v1/batches/{id}/body", "work", "The answer of a batch byte for byte, as it was kept; each read stands in the audit log")
	raw.Audited = true
	sendFile(a, raw, "The answer of the upstream", func(ctx context.Context, who access.Caller, id int64) (sentFile, error) {
		b, err := a.seenBatch(ctx, who, id)
		if err != nil {
			return sentFile{}, err
		}
		body, err := a.Evidence.Body(ctx, b.ID, a.readBy(ctx, who))
		return sentFile{name: fmt.Sprintf("batch-%d.bin", b.ID), content: unclosed{bytes.NewReader(body)}}, err
	})
	again := op{Route: Route{Method: http.MethodPost, Path: "/v1/batches/{id}/replay", Role: access.Operator, Audited: true}, id: "replay-batch", tag: "work",
		summary: "Do a batch again without writing, and tell what differs", errors: []int{http.StatusNotFound, http.StatusConflict}}
	answer(a, again, func(ctx context.Context, who access.Caller, in *replayIn) (*blackbox.Report, error) {
		if _, err := a.seenBatch(ctx, who, in.ID); err != nil {
			return nil, err
		}
		return a.Evidence.Replay(ctx, in.ID, in.Body.Upstream, in.Body.Now, a.readBy(ctx, who))
	})
	for _, of := range []struct {
		noun, path string
		filter     func(id int64) view.Filter
	}{
		{"run", "/v1/runs/{id}/replay", func(id int64) view.Filter { return view.Filter{RunID: id} }},
		{"task", "/v1/tasks/{id}/replay", func(id int64) view.Filter { return view.Filter{TaskID: id} }},
	} {
		again.Path, again.id, again.summary = of.path, "replay-"+of.noun, "Do the batches of a "+of.noun+" again from their kept bodies, newest first, and tell which differ"
		answer(a, again, func(ctx context.Context, who access.Caller, in *replayAllIn) (out blackbox.Replayed, err error) {
			f := of.filter(in.ID)
			f.Limit = 1
			rows, err := a.Work.ListBatches(ctx, f)
			if err == nil && (len(rows) == 0 || !who.Sees(rows[0].Source)) {
				err = errUnseen(of.noun, in.ID)
			}
			if err != nil {
				return out, err
			}
			if f.Before, err = (Page{Cursor: in.Cursor}).before(); err != nil {
				return out, err
			}
			f.Limit = in.Limit
			return a.Evidence.ReplayAll(ctx, f, in.Body.Now, a.readBy(ctx, who))
		})
	}
}

// readBy signs what changes nothing and is audited all the same: nobody is asked for a reason,
// so the name of the request stands in its place.
func (a *api) readBy(ctx context.Context, who access.Caller) ingest.Act {
	return ingest.Act{Actor: who.Actor(), Reason: "request " + a.RequestID(ctx)}
}

// seenBatch reads a batch that the caller may know of.
func (a *api) seenBatch(ctx context.Context, who access.Caller, id int64) (view.BatchDetail, error) {
	b, err := a.Details.Batch(ctx, id)
	if err == nil && !who.Sees(b.Source) {
		return view.BatchDetail{}, errUnseen("batch", id)
	}
	return b, err
}
