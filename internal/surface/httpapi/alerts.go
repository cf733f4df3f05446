package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/view"
)

// toldAlert is an alert with the messages about it.
type toldAlert struct {
	alert.Kept
	Messages []alert.Delivery `json:"messages"`
}

func (a *api) registerAlerts() {
	list(a, viewer("list-alerts", "/v1/alerts", "alerts", "What people were or will be told, newest first"), func(k alert.Kept) int64 { return k.ID }, a.Alerts.List)
	get(a, viewerOne("show-alert", "/v1/alerts/{id}", "alerts", "One alert with the messages about it"),
		func(ctx context.Context, who access.Caller, in *ByID) (out toldAlert, err error) {
			k, messages, err := a.Alerts.Show(ctx, in.ID)
			if err == nil && !who.Sees(k.Alert.Subject.Source) {
				return out, errUnseen("alert", in.ID)
			}
			return toldAlert{k, view.Whole(messages).Items}, err
		})
	// A message may tell of several sources, and silences may cover all.
	listWhole(a, op{Route: Route{Path: "/v1/alert-messages", Role: access.Viewer}, id: "list-alert-messages", tag: "alerts", summary: "Messages to receivers, newest first"}, func(d alert.Delivery) int64 { return d.ID }, a.Alerts.ListMessages)
	listWhole(a, op{Route: Route{Path: "/v1/silences", Role: access.Viewer}, id: "list-silences", tag: "alerts", summary: "Silences, newest first"}, func(s alert.Silence) int64 { return s.ID }, a.Alerts.ListSilences)
	listWhole(a, op{Route: Route{Path: "/v1/audit", Role: access.Operator}, id: "list-audit", tag: "audit", summary: "Who changed what and why, newest first"}, func(e audit.Entry) int64 { return e.ID }, a.Audit.ListActs)
}

// errLimited: the answer is about all sources, and the caller sees only some.
var errLimited = errors.New("a token that is limited to sources cannot read this: it tells of all sources")

// listWhole adds a list whose rows are not of one source: only callers who see all read it.
func listWhole[T any](a *api, o op, id func(T) int64, read func(context.Context, view.Filter) ([]T, error)) {
	o.errors = append(o.errors, http.StatusForbidden)
	get(a, o, func(ctx context.Context, who access.Caller, in *Page) (out view.List[T], err error) {
		if !who.SeesAll() {
			return out, errLimited
		}
		return readPage(ctx, who, view.Filter{}, *in, id, read)
	})
}
