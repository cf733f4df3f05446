package work

import (
	"context"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/daemon"
)

// hintWatermark says when overrides change what is asked for: such a run has a
// watermark of its own, and does not move that of the source (D§5.7).
func hintWatermark(ctx context.Context, e *term.Env, app *daemon.App, code, endpoint string, p Parsed, with *spec.Compiled) error {
	own, err := with.Namespace()
	if err != nil || len(p.overrides) == 0 {
		return err
	}
	under := func(overrides ...registry.Override) (ingest.Namespace, error) {
		compiled, err := compileFor(ctx, e, app, code, endpoint, p.operation, overrides)
		if err != nil {
			return ingest.Namespace{}, err
		}
		return compiled.Namespace()
	}
	usual, err := under()
	if err != nil || usual == own {
		return nil // a source that is usable only with overrides has no other watermark
	}
	var because []string
	for _, o := range p.overrides {
		if alone, err := under(o); err != nil || alone != usual {
			because = append(because, o.String())
		}
	}
	e.Hint("this run has a watermark of its own, because what is asked for differs: %s", strings.Join(because, ", "))
	return nil
}
