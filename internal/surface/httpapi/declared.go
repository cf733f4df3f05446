package httpapi

import (
	"context"
	"slices"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Declared tells what holds for a source, and why.
type Declared interface {
	// Settings lists every setting of one operation of one endpoint with its origin.
	Settings(ctx context.Context, source, endpoint, operation string) (view.SourceSettings, error)
	// Secrets lists which secrets a source names, the hosts they go to and whether they are there.
	Secrets(ctx context.Context, source string) ([]view.SecretUse, error)
	// Thresholds lists from when on something is a finding.
	Thresholds() []view.Setting
}

// OfOperation names one operation of one endpoint of a source.
type OfOperation struct {
	BySource
	Endpoint  string `query:"endpoint" maxLength:"64" doc:"Default: the only one."`
	Operation string `query:"operation" enum:"HARVEST,BACKFILL,UPDATE" doc:"Default: HARVEST, or what the endpoint serves."`
}

func (a *api) registerDeclared() {
	get(a, viewerOne("explain-source", "/v1/sources/{source}/settings", "sources", "Every setting that holds for one operation of one endpoint, and where it came from"),
		func(ctx context.Context, who access.Caller, in *OfOperation) (out view.SourceSettings, err error) {
			if !who.Sees(in.Source) {
				return out, errUnseen("source", in.Source)
			}
			return a.Declared.Settings(ctx, in.Source, in.Endpoint, in.Operation)
		})
	secrets := viewerOne("list-secrets", "/v1/sources/{source}/secrets", "sources", "Which secrets a source names, the hosts they go to and whether they are there; never a value")
	secrets.Role = access.Operator
	get(a, secrets, func(ctx context.Context, who access.Caller, in *BySource) (out view.List[view.SecretUse], err error) {
		if !who.Sees(in.Source) {
			return out, errUnseen("source", in.Source)
		}
		all, err := a.Declared.Secrets(ctx, in.Source)
		return view.Whole(all), err
	})
	get(a, viewer("list-thresholds", "/v1/thresholds", "status", "From when on something is a finding, unless a source says otherwise"),
		func(context.Context, access.Caller, *struct{}) (view.List[view.Setting], error) {
			return view.Whole(a.Declared.Thresholds()), nil
		})
	get(a, viewer("list-conditions", "/v1/conditions", "status", "Endpoints that are in trouble or held back, and what is done about it"),
		func(ctx context.Context, who access.Caller, in *OfSource) (out view.List[view.Condition], err error) {
			if in.Source != "" && !who.Sees(in.Source) {
				return out, errUnseen("source", in.Source)
			}
			all, err := a.Status.Conditions(ctx)
			all = slices.DeleteFunc(all, func(c view.Condition) bool {
				return !who.Sees(c.Source) || in.Source != "" && c.Source != in.Source
			})
			return view.Whole(all), err
		})
}
