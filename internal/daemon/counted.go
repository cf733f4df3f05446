package daemon

import (
	"context"
	"sync/atomic"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// countedCalls counts the requests of planning. They belong to no run, and whoever
// compares a harvest with the upstream's log would miss them.
type countedCalls struct {
	next transport.Doer
	sent *atomic.Int64
}

func (c countedCalls) Do(ctx context.Context, call *transport.Call) (*exchange.Response, error) {
	if call.Spending == nil {
		call.Spending = spendingOf(ctx)
	}
	defer func() { c.sent.Add(int64(call.Notes.Requests())) }()
	return c.next.Do(ctx, call)
}
