package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// NameRequest gives a request the name that its caller chose. The name holds for one
// operation of one endpoint: a job that does several things may use one for all.
func NameRequest(r planner.Request, of ingest.Partition, id string) planner.Request {
	r.RequestID, r.TriggerKey = id, fmt.Sprintf("request %s %s %s %s", of.Source, of.Endpoint, of.Operation, id)
	return r
}

// FindRequested finds the plan of a request that was made before under the same name
// (I8); false if there is none yet. The same name for something else is a conflict: the
// caller would take the plan for what it asked for.
func (a *App) FindRequested(ctx context.Context, of ingest.Partition, r planner.Request) (view.TriggerRow, bool, error) {
	before, known, err := a.store.TriggerOfKey(ctx, planner.TriggerKeyOf(r.TriggerKey))
	if err != nil || !known || before.PlanID == 0 {
		return before, false, err
	}
	if !sameRequest(before.Params, planner.NewTrigger(of, r).Params) {
		return before, false, fmt.Errorf("%w: --request-id %s is plan %d, and was asked for with other bounds or settings: give another --request-id, or repeat the call as it was (patra plan show %d)",
			fault.ErrConflict, r.RequestID, before.PlanID, before.PlanID)
	}
	return before, true, nil
}

// sameRequest reports whether two triggers ask for the same. Relative bounds are compared
// as they were written: by now they mean other instants.
func sameRequest(a, b []byte) bool {
	var of [2]struct {
		Typed       string
		Overrides   []string
		MaxRequests int
	}
	if json.Unmarshal(a, &of[0]) != nil || json.Unmarshal(b, &of[1]) != nil {
		return false
	}
	return of[0].Typed == of[1].Typed && of[0].MaxRequests == of[1].MaxRequests && slices.Equal(of[0].Overrides, of[1].Overrides)
}

// NoteRefused keeps that work was asked for and why there is no plan (§5.3.2). A request
// that has its plan already is left as it is.
func (a *App) NoteRefused(ctx context.Context, of ingest.Partition, r planner.Request, why error) error {
	in := planner.NewTrigger(of, r)
	if before, known, err := a.store.TriggerOfKey(ctx, in.Key); err != nil || known && before.PlanID != 0 {
		return err
	}
	id, err := a.store.RecordTrigger(ctx, in)
	if err != nil {
		return err
	}
	remarks, _ := fingerprint.Canonical(map[string]string{"refused": why.Error()}) // a text always encodes
	return a.store.NoteTrigger(ctx, id, remarks)
}

// IsRefusal reports whether an error refuses what was asked for, in difference to trouble
// of the database, of the network or of a run that had begun.
func IsRefusal(err error) bool {
	return errors.Is(err, fault.ErrInvalid) || errors.Is(err, fault.ErrConflict) || errors.As(err, new(registry.Problems)) || IsUntrusted(err)
}

// PartitionOf returns what a command means that names a source and maybe an endpoint.
func (a *App) PartitionOf(ctx context.Context, code, endpoint string, op ingest.Operation) (ingest.Partition, error) {
	src, _, err := a.Source(ctx, code)
	if err != nil {
		return ingest.Partition{}, err
	}
	if endpoint == "" {
		if serving := startingEndpoints(src, op); len(serving) == 1 {
			endpoint = serving[0]
		}
	}
	return ingest.Partition{Dataset: ingest.Dataset{Source: code, Endpoint: endpoint}, Operation: op}, nil
}
