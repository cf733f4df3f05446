package planner

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// operation is what a plan does: one value for HARVEST, BACKFILL and UPDATE each, made
// for one request. Everything in which they differ is a method of it or one of their
// traits, so that the rest of the package need not ask which one it plans.
type operation interface {
	// ownNamespace is where the coverage of the plan is kept (D§5.8).
	ownNamespace() (ingest.Namespace, error)
	// readInputs adds to the inputs what only this operation is drawn against.
	readInputs(ctx context.Context, from InputReader, own ingest.Namespace, b *Inputs) error
	// totalWindow is the window of the plan and what of it is not asked for now:
	// ranges that need no reading, and failed ones whose time has not come (D§5.7).
	totalWindow(b Inputs) (window.Total, error)
	// planLag is what is stored of the safety lag for the plans that follow; nil: the
	// operation keeps none.
	planLag(drawn window.Lag, b Inputs) *ingest.PlanLag
	// cutSlices makes the slices of what a draft owes.
	cutSlices(d *drawing, b Inputs) error
}

// traits are what is known of an operation without a request.
type traits struct {
	priority       string // of its slices, in words (S§10)
	followsPresent bool   // reads what has just changed: due at once, behind a safety lag that adapts
	newestFirst    bool   // slices begin at the new end
	asksByID       bool   // asks for stored records, whatever part of a list they came with
	resumesWhole   bool   // a plan that goes on is cut at once, also where sizes are asked for
}

// operationOf returns the operation that a request asks a source for.
func operationOf(c *spec.Compiled, r Request) (operation, error) {
	if c.Snapshot.Lists {
		return nil, fmt.Errorf("%w: endpoint %s of source %s only names files; harvest the endpoint that reads them (role: FILE)", fault.ErrInvalid, c.Snapshot.Endpoint, c.Snapshot.Source)
	}
	if c.Snapshot.ReadsWhole() {
		return wholeHarvest{c, r}, nil
	}
	switch c.Snapshot.Operation {
	case ingest.Harvest:
		return harvest{c, r}, nil
	case ingest.Backfill:
		return newBackfill(c, r), nil
	case ingest.Update:
		return newUpdate(c, r), nil
	}
	return nil, fmt.Errorf("%w: %s/%s: the operation %q cannot be planned: use HARVEST, BACKFILL or UPDATE", fault.ErrInvalid, c.Snapshot.Source, c.Snapshot.Endpoint, c.Snapshot.Operation)
}

// traitsOf returns the traits of an operation.
func traitsOf(o ingest.Operation) traits {
	switch o {
	case ingest.Harvest:
		return harvestTraits
	case ingest.Update:
		return updateTraits
	case ingest.Backfill:
		return backfillTraits
	}
	return traits{} // operationOf refuses it
}

// namespaceOf returns where the coverage of a plan is kept.
func namespaceOf(c *spec.Compiled, r Request) (ingest.Namespace, error) {
	op, err := operationOf(c, r)
	if err != nil {
		return ingest.Namespace{}, err
	}
	return op.ownNamespace()
}
