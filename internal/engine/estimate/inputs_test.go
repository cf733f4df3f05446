package estimate_test

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// inputs is a store in which nothing was ever planned.
type inputs struct{ planner.Store }

func (inputs) SectorLags(context.Context, ingest.Namespace) ([]sector.Lag, error) { return nil, nil }

func (inputs) SectorRefusals(context.Context, ingest.Namespace) ([]sector.Refusal, error) {
	return nil, nil
}

func (inputs) CauseChanged(context.Context, ingest.Partition) (time.Time, error) {
	return time.Time{}, nil
}

func (inputs) Now(context.Context) (time.Time, error) { return weekTo, nil }

func (inputs) CoverageState(context.Context, ingest.Namespace) (coverage.State, bool, error) {
	return coverage.State{}, false, nil
}

func (inputs) BytesPerItem(context.Context, ingest.Dataset) (int64, error) { return 0, nil }

func (inputs) Lateness(context.Context, ingest.Namespace, time.Time) (window.Lateness, error) {
	return window.Lateness{}, nil
}

func (inputs) QuotaUse(context.Context, string) (gate.Use, error) { return gate.Use{}, nil }
