package daemon

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// newInspector joins the questions of people with what answers them.
func newInspector(a *App) *inspect.Inspector {
	db := a.store
	return inspect.New(inspect.Readers{
		Clock: db, Sources: definitions{a}, Coverage: db, Advances: db, Failed: db, Work: db, Beside: db, Checks: db, Machine: machine{a}, Versions: db,
		Readings: db, Upstream: a, Rates: db, Records: db, Archive: a,
	})
}

// definitions are the sources of an app, as inspect reads them.
type definitions struct{ *App }

// CompileSource freezes one operation of a definition, whether or not it may run here.
func (definitions) CompileSource(src *registry.Source, endpoint string, op ingest.Operation) (*spec.Compiled, error) {
	return Compile(src, endpoint, op, nil)
}

// machine is who works on the database of an app, as inspect reads it.
type machine struct{ *App }

// Processes counts the living processes that work on tasks, and those that publish.
func (m machine) Processes(ctx context.Context) (executors, relays int, err error) {
	living, err := m.AtWork(ctx)
	for _, p := range living {
		if hasRole(p, RoleExecutor) {
			executors++
		}
		if hasRole(p, RoleRelay) {
			relays++
		}
	}
	return executors, relays, err
}

// ReadClock returns the time by the clock of this machine.
func (machine) ReadClock() time.Time { return time.Now() }

// FailedTries counts the tries of this process that failed since the last page came.
func (m machine) FailedTries(of ingest.Partition) (tries int, last string) {
	failed := m.App.executor.FailedTries(of)
	return failed.Tries, failed.Last
}
