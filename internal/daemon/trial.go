package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/trial"
)

// Try asks the upstream for one page and explains it. It needs no database and
// writes nothing.
func (g *Guard) Try(ctx context.Context, c *spec.Compiled, r TrialRequest) (*TrialResult, error) {
	program, err := c.Snapshot.Program()
	if err != nil {
		return nil, err
	}
	return trial.Run(ctx, g.requestChain(rategate.New()), program, r)
}

// TrialRequest, TrialResult and TrialDecision let the command line name them without
// reaching into the engine.
type (
	TrialRequest  = trial.Request
	TrialResult   = trial.Result
	TrialDecision = trial.Decision
)
