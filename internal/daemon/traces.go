package daemon

import (
	"context"
	"os"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/surface/traces"
)

// TraceTo lets a program that is opened with this configuration record spans, if the
// standard OTEL_* variables say where to. What is returned sends the last of them; it is
// called when the program is closed, and takes a few seconds at most.
func (c *Config) TraceTo(ctx context.Context, version string) (stop func()) {
	full := c.WithDefaults()
	warn := full.Warn
	if warn == nil {
		warn = func(text string) { full.Log.Warn(text) }
	}
	t := traces.Open(ctx, traces.Config{Getenv: os.Getenv, Version: version, Tell: warn, Log: full.Log})
	c.Spans = t.Recorder()
	return t.Close
}

// BeginTrigger begins the span of what a command triggers. It ends when the plan is made,
// or with what is returned, whichever comes first.
func (a *App) BeginTrigger(ctx context.Context) (context.Context, func(error)) {
	ctx, s := span.BeginRoot(ctx, a.config.Spans, span.Beginning{Name: span.Trigger})
	return ctx, s.End
}

// Compile freezes one operation of a source as it is now.
func (a *App) Compile(ctx context.Context, code, endpoint string, op ingest.Operation, overrides []registry.Override) (_ *spec.Compiled, err error) {
	ctx, end := beginCompile(ctx, code, endpoint, op)
	defer func() { end(err) }()
	return a.compileUntraced(ctx, code, endpoint, op, overrides)
}

// beginCompile begins the span in which a source is frozen for an operation.
func beginCompile(ctx context.Context, code, endpoint string, op ingest.Operation) (context.Context, func(error)) {
	ctx, s := span.Begin(ctx, span.Compile)
	if s.IsKept() {
		s.Note(span.OfPartition(ingest.Partition{Dataset: ingest.Dataset{Source: code, Endpoint: endpoint}, Operation: op})...)
	}
	return ctx, s.End
}
