package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/driver/secrets"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/trial"
)

// Try asks the upstream for one page and explains it. It needs no database and
// writes nothing.
func Try(ctx context.Context, c *spec.Compiled, r TrialRequest) (*TrialResult, error) {
	program, err := c.Snapshot.Program()
	if err != nil {
		return nil, err
	}
	return trial.Run(ctx, newChain(rategate.New()), program, r)
}

// HasSecret reports whether a reference leads to something. A command is not run
// to find out.
func HasSecret(ref secret.Ref) bool {
	if scheme, _ := ref.Split(); scheme == "exec" {
		return false
	}
	_, err := secrets.System{}.Reveal(context.Background(), ref)
	return err == nil
}

// ShortSecret tells whether a reference leads to a value that may occur in what
// an upstream sends, and would be hidden there.
func ShortSecret(ref secret.Ref) bool {
	if scheme, _ := ref.Split(); scheme == "exec" {
		return false
	}
	value, err := secrets.System{}.Reveal(context.Background(), ref)
	return err == nil && secret.Garbles(value)
}

// TrialRequest, TrialResult and TrialDecision let the command line name them without
// reaching into the engine.
type (
	TrialRequest  = trial.Request
	TrialResult   = trial.Result
	TrialDecision = trial.Decision
)
