package reason

import (
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// HintPause says that nothing is done of a part of a source.
func HintPause(e *term.Env, p ingest.Pause) { e.Hint("%s. To go on: %s", p, p.Resuming()) }
