package httpapi

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/patra-ingest/patra/internal/surface/live"
)

// Streams tells who watches what changes.
type Streams interface {
	Open(live.Watch) (serve func(http.ResponseWriter, *http.Request), err error)
}

// streamType is what events are sent as.
const streamType = "text/event-stream"

const aboutLive = `Server-sent events. The first one is state: all that is known. Then come progress (the open plans of a source), finding (one that was opened, changed or resolved), throughput (what the runs of a source did in the last hour), trouble (the database cannot be read, or can again) and end (the token or the session is over). Whoever comes back with Last-Event-ID gets what it missed; if that is too long ago, or the process was started anew, state comes again. A comment is a sign of life.`

func (a *api) registerLive() {
	type liveIn struct {
		OfSource
		LastID string `header:"Last-Event-ID" maxLength:"64" doc:"The id of the last event that was seen. Browsers send it by themselves."`
	}
	o := viewer("live", "/v1/live", "live", "What changes, as it happens")
	o.Method, o.about, o.errors = http.MethodGet, aboutLive, []int{http.StatusNotFound, http.StatusTooManyRequests}
	described := a.describe(o)
	described.Responses = map[string]*huma.Response{"200": {Description: "A stream of events", Content: map[string]*huma.MediaType{streamType: {Schema: a.eventSchema()}}}}
	huma.Register(a.huma, described, func(ctx context.Context, in *liveIn) (*huma.StreamResponse, error) {
		who := a.CallerOf(ctx)
		if in.Source != "" && !who.Sees(in.Source) {
			return nil, a.newProblem(ctx, errUnseen("source", in.Source))
		}
		serve, err := a.Streams.Open(live.Watch{Caller: who, Source: in.Source, LastID: in.LastID})
		if err != nil {
			return nil, a.streamProblem(ctx, err)
		}
		return &huma.StreamResponse{Body: func(c huma.Context) {
			r, w := humago.Unwrap(c)
			serve(w, r)
		}}, nil
	})
}

// streamProblem is that no place is left for a stream.
func (a *api) streamProblem(ctx context.Context, err error) *Problem {
	p := &Problem{Type: "about:blank", Status: http.StatusServiceUnavailable, Kind: "BUSY", Code: "STREAMS_FULL", Detail: err.Error(), Next: "try again in a moment; /v1/status tells the same", Request: a.RequestID(ctx)}
	if errors.Is(err, live.ErrTooMany) {
		p.Status, p.Code, p.Next = http.StatusTooManyRequests, "TOO_MANY_STREAMS", "close some, or use a token of its own for each program"
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// eventSchema describes what follows data: in an event, by its kind.
func (a *api) eventSchema() *huma.Schema {
	out := &huma.Schema{Title: "data of an event"}
	for _, kind := range []reflect.Type{reflect.TypeFor[live.State](), reflect.TypeFor[live.Progress](), reflect.TypeFor[live.Found](), reflect.TypeFor[live.Throughput](), reflect.TypeFor[live.Trouble](), reflect.TypeFor[live.End]()} {
		out.OneOf = append(out.OneOf, a.huma.OpenAPI().Components.Schemas.Schema(kind, true, "live"))
	}
	return out
}
