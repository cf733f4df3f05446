package subject

import (
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

// WarnOfFile tells what the source of a file cannot do.
func WarnOfFile(e *term.Env, f view.CheckedFile) {
	for _, w := range f.Warnings {
		e.Hint("%s: warning: %s %s: %s", f.File, w.Endpoint, strings.Join(w.Operations, ", "), w.Warning)
	}
}
