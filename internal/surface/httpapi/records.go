package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
)

// InDataset names the records of an endpoint.
type InDataset struct {
	Source   string `path:"source" maxLength:"64"`
	Endpoint string `query:"endpoint" maxLength:"64" doc:"Default: the only one."`
}

func (a *api) findDataset(ctx context.Context, who access.Caller, in InDataset) (view.Dataset, error) {
	if !who.Sees(in.Source) {
		return view.Dataset{}, errUnseen("source", in.Source)
	}
	name := in.Source
	if in.Endpoint != "" {
		name += "/" + in.Endpoint
	}
	return a.Records.Dataset(ctx, name)
}

// recordCount is how many records an endpoint has.
type recordCount struct {
	view.Dataset
	Active int64 `json:"active"`
	Gone   int64 `json:"gone"`
}

// reader is a route that shows stored content.
func reader(id, path, tag, summary string) op {
	return op{Route: Route{Path: path, Role: access.Reader}, id: id, tag: tag, summary: summary, errors: []int{http.StatusNotFound}}
}

// ChangesIn names versions of an endpoint by when they were stored.
type ChangesIn struct {
	InDataset
	Page
	Since time.Time `query:"since" doc:"Stored at this instant or later; default: 24 hours ago, and with a cursor no bound but that."`
	Until time.Time `query:"until" doc:"Stored before this instant; default: no bound."`
}

func (a *api) listChanges(ctx context.Context, who access.Caller, in *ChangesIn) (out view.List[view.Change], err error) {
	d, err := a.findDataset(ctx, who, in.InDataset)
	if err != nil {
		return out, err
	}
	q := view.Changes{Since: in.Since, Until: in.Until, Limit: in.Limit}
	if q.Behind, err = in.before(); err != nil {
		return out, err
	}
	if q.Since.IsZero() && q.Behind == 0 {
		now, err := a.Stats.Now(ctx)
		if err != nil {
			return out, err
		}
		q.Since = now.Add(-usualRange)
	}
	if !q.Until.IsZero() && !q.Since.Before(q.Until) {
		return out, fmt.Errorf("%w: since: it must lie before until", fault.ErrInvalid)
	}
	rows, next, err := a.Records.ListChanges(ctx, d, q)
	if out = view.Whole(rows); err == nil && next != 0 {
		position := strconv.FormatInt(next, 10)
		out.More, out.Next = true, &position
	}
	return out, err
}

func (a *api) registerRecords() {
	type listIn struct {
		InDataset
		Page
	}
	get(a, reader("list-records", "/v1/sources/{source}/records", "records", "Records without their content, in the order of their keys"),
		func(ctx context.Context, who access.Caller, in *listIn) (out view.List[view.Record], err error) {
			d, err := a.findDataset(ctx, who, in.InDataset)
			if err != nil {
				return out, err
			}
			rows, err := a.Records.List(ctx, d, in.Cursor, in.Limit+1)
			return view.Paged(rows, in.Limit, func(r view.Record) string { return r.ID }), err
		})
	get(a, reader("list-changes", "/v1/sources/{source}/changes", "records", "Versions of records without their content, in the order in which they were stored; a page may be short, or empty, and have a next one"), a.listChanges)
	get(a, reader("count-records", "/v1/sources/{source}/records/count", "records", "How many records there are; they are counted one by one"),
		func(ctx context.Context, who access.Caller, in *InDataset) (out recordCount, err error) {
			d, err := a.findDataset(ctx, who, *in)
			if err != nil {
				return out, err
			}
			out.Dataset = d
			out.Active, out.Gone, err = a.Records.Count(ctx, d)
			return out, err
		})
	type recordIn struct {
		InDataset
		ID       string `query:"id" required:"true" minLength:"1" maxLength:"2048" doc:"The id that the upstream gave the record; in the query, because ids have slashes."`
		Versions int    `query:"versions" default:"10" minimum:"1" maximum:"100"`
		Payload  bool   `query:"payload" doc:"With the item as the upstream sent it."`
	}
	get(a, reader("show-record", "/v1/sources/{source}/record", "records", "One record with its versions, and the work that wrote each"),
		func(ctx context.Context, who access.Caller, in *recordIn) (out view.History, err error) {
			d, err := a.findDataset(ctx, who, in.InDataset)
			if err != nil {
				return out, err
			}
			return a.Records.History(ctx, d, in.ID, view.Looking{Most: in.Versions, Diff: true, Payload: in.Payload})
		})
	type rejectsIn struct {
		OfSource
		Page
		Endpoint string `query:"endpoint" maxLength:"64"`
		Reason   string `query:"reason" maxLength:"64"`
		Path     string `query:"path" maxLength:"512"`
		Status   string `query:"status" enum:"OPEN,REQUEUED,RESOLVED,DISCARDED"`
	}
	o := reader("list-quarantine", "/v1/quarantine", "quarantine", "Items that could not be read, in the order of their numbers")
	get(a, o, func(ctx context.Context, who access.Caller, in *rejectsIn) (out view.List[view.Reject], err error) {
		if in.Source == "" && !who.SeesAll() {
			return out, fmt.Errorf("%w: source: name one of the sources that the token is limited to", fault.ErrInvalid)
		}
		if in.Source != "" && !who.Sees(in.Source) {
			return out, errUnseen("source", in.Source)
		}
		after, err := in.before()
		if err != nil {
			return out, err
		}
		rows, err := a.Quarantine.List(ctx, view.RejectFilter{Source: in.Source, Endpoint: in.Endpoint, Reason: in.Reason, Path: in.Path, Status: in.Status, After: after, Limit: in.Limit + 1})
		return view.Paged(rows, in.Limit, func(r view.Reject) string { return fmt.Sprint(r.ID) }), err
	})
	show(a, reader("show-quarantined", "/v1/quarantine/{id}", "quarantine", "One item that could not be read, as the upstream sent it"), "quarantine", func(r view.Reject) string { return r.Source },
		func(ctx context.Context, id int64) (view.Reject, error) {
			r, err := a.Quarantine.Show(ctx, id)
			return r.WithItem(), err
		})
	show(a, viewerOne("show-event", "/v1/events/{id}", "events", "One event"), "event", func(e view.Outgoing) string { return e.Source }, a.Events.Show)
}
