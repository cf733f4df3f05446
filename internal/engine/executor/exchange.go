package executor

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// describeExchange says how a page was had, or was not; c is nil if nobody was asked.
func (r *taskRun) describeExchange(c *transport.Call, hasNext bool) ingest.Exchange {
	x := ingest.Exchange{HasNext: hasNext}
	for _, a := range health.Actions() {
		x.Actions.Count(a, r.stats.Actions.Times(a)-r.told.Times(a))
	}
	if c == nil {
		return x
	}
	n := &c.Notes
	x.Requests, x.Retries, x.Throttled, x.Permits = n.Requests(), max(n.Sent()-1, 0), n.Throttled, n.Attempts
	x.Waits, x.Rate, x.Bytes, x.TookAll = n.Waits, n.Rate, n.BytesIn, n.Took
	if c.Limits.HasQuota() {
		x.Quota = gate.Allow
		if x.Waits.Quota > 0 {
			x.Quota = gate.Wait
		}
	}
	if n.Response != nil {
		x.Status, x.Took = n.Response.Status, time.Duration(n.Response.TookMS)*time.Millisecond
	}
	return x
}

// noteStored keeps what the last stored batch says of the run.
func (r *taskRun) noteStored(x ingest.Exchange, result ingest.BatchResult) {
	if r.stats.HasNext = 0; x.HasNext {
		r.stats.HasNext = 1
	}
	if result.Repeated {
		r.stats.Repeated++
	}
}
