package daemon

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// newInspector joins the questions of people with what answers them.
func newInspector(a *App) *inspect.Inspector {
	return inspect.New(readersOf(a), a.config.Installed.Findings.Limits())
}

// readersOf returns what answers the questions of people about an app.
func readersOf(a *App) inspect.Readers {
	db := a.store
	return inspect.Readers{
		Clock: db, Sources: definitions{a}, Outlines: definitions{a}, Coverage: db, Backfills: db, Advances: db, Failed: db, Work: db, Ended: db, Lately: db, Beside: db, Checks: db, Machine: machine{a}, Place: place{a}, Versions: db,
		Readings: db, Upstream: a, Counted: db, Rates: db, Records: db, Archive: a, Alerts: db, Sums: db, Trees: db, Pages: db, Bodies: &Bodies{a.answers(), a.config.Raw}, Together: db.ParallelQueries(),
	}
}

// definitions are the sources of an app, as inspect reads them.
type definitions struct{ *App }

// Hold reads all applied sources once for what is asked with the context it returns.
func (d definitions) Hold(ctx context.Context) (context.Context, error) {
	return d.registry.holdSources(ctx, d.store)
}

// ResolveSource merges the settings of one operation of a definition. Of the newest version of
// a source they are kept.
func (d definitions) ResolveSource(src *registry.Source, endpoint string, op ingest.Operation) (*registry.Resolved, error) {
	if known, _ := d.registry.heldCopy(src.Code); known != nil && known.src == src {
		return known.resolve(endpoint, op)
	}
	return registry.Resolve(src, endpoint, string(op), nil)
}

// machine is who works on the database of an app, as inspect reads it.
type machine struct{ *App }

// Processes lists those that live and those that ended without shutting down. One of this machine
// that no longer runs is gone at once: people who look after a crash must not read that it
// works.
func (m machine) Processes(ctx context.Context) ([]view.Process, error) {
	all, err := m.store.ProcessRows(ctx)
	for n, p := range all {
		if m.isGone(ingest.Process{Host: p.Host, PID: p.PID}) {
			all[n].AliveUntil = time.Time{}
		}
	}
	return all, err
}

// ReadClock returns the time by the clock of this machine.
func (machine) ReadClock() time.Time { return time.Now() }

// FailedTries counts the tries of this process that failed since the last page came.
func (m machine) FailedTries(of ingest.Partition) (tries int, last string) {
	failed := m.App.executor.FailedTries(of)
	return failed.Tries, failed.Last
}
