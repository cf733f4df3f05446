package daemon

import (
	"context"
	"errors"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// followSignals plans what people and programs have named since, beside the turns
// of a tick (§4.14): whoever named a record expects that the next update looks at
// it. No plan is made if nothing is open, or all of it waits for a retry. A tick
// that is repeated finds its own plan (I8), and one before it that has not ended
// keeps the tick waiting, so no signal is planned twice.
func (s schedules) followSignals(ctx context.Context, c *spec.Compiled, tick planner.Request) (summary string, err error) {
	if c.Snapshot.Operation != ingest.Update || c.Snapshot.Detail == nil {
		return "", nil // its records cannot be asked for one by one
	}
	tick.TriggerKey += " signals"
	tick.Refresh.Policy = refresh.BySignal
	draft, err := s.app.Planner.Draft(ctx, c, tick)
	if err == nil && !draft.Empty {
		_, draft, err = s.app.Planner.Plan(ctx, c, tick)
	}
	switch {
	case errors.Is(err, fault.ErrInvalid):
		return "signals: " + err.Error(), nil // the turns are planned all the same
	case err != nil || draft.Empty:
		return "", err
	}
	return "signals: " + draft.Summary(), nil
}
