package dispatch

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// tellClaim logs that a task was taken: under which lease, and how many worker slots of
// this process are in use with it (§14.5).
func (d *Dispatcher) tellClaim(w ingest.Work) {
	worklog.OfTask(d.log, w).Info("task claimed", "epoch", w.Lease.Epoch, "owner", w.Lease.Owner, "leaseUntil", w.Lease.Until, "slot", d.places.countBusy(), "slots", d.config.Workers, "runs", w.Attempts)
}

// tellRelease logs that a task was given back, and what became of it.
func (d *Dispatcher) tellRelease(w ingest.Work, o ingest.Outcome, held time.Duration) {
	about := []any{"epoch", w.Lease.Epoch, "owner", w.Lease.Owner, "slot", d.places.countBusy(), "slots", d.config.Workers, "held", held.Round(time.Millisecond), "becomes", string(o.Task)}
	if !o.NotBefore.IsZero() {
		about = append(about, "notBefore", o.NotBefore)
	}
	worklog.OfTask(d.log, w).Info("task released", about...)
}
