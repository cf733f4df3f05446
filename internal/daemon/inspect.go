package daemon

import (
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// newInspector joins the questions of people with what answers them.
func newInspector(a *App) *inspect.Inspector {
	return inspect.New(inspect.Readers{Clock: a.Store, Sources: definitions{a}, Coverage: a.Store, Failed: a.Store})
}

// definitions are the sources of an app, as inspect reads them.
type definitions struct{ *App }

// CompileSource freezes one operation of a definition, whether or not it may run here.
func (definitions) CompileSource(src *registry.Source, endpoint string, op ingest.Operation) (*spec.Compiled, error) {
	return Compile(src, endpoint, op, nil)
}
