package rategate

import (
	"context"
	"testing"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/testkit/gatetest"
)

// All clients of a local gate are in one process.
func TestLocal(t *testing.T) {
	gatetest.Run(t, gatetest.Subject{Virtual: true, Open: func(_ *testing.T, clients int) []gatetest.Gate {
		l := New()
		out := make([]gatetest.Gate, clients)
		for i := range out {
			out[i] = gatetest.Gate{
				Acquire: func(ctx context.Context, a gate.Ask) (func(gate.Signal), error) {
					p, err := l.Acquire(ctx, a)
					if err != nil {
						return nil, err
					}
					return p.Done, nil
				},
				Estimate: l.Estimate, Snapshot: l.Snapshot, Standing: l.Standing, SetShare: l.SetShare,
			}
		}
		return out
	}})
}
