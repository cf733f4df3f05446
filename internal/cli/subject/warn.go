package subject

import (
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Warning is something an endpoint cannot do, and the operations it concerns.
type Warning struct {
	Endpoint   string   `json:"endpoint"`
	Operations []string `json:"operations"`
	spec.Warning
}

// warningsOf compiles every operation of every endpoint, as runs would.
// What is wrong with a file is said elsewhere.
func warningsOf(src *registry.Source) []Warning {
	out, wants := []Warning{}, daemon.TrustWarner()
	for _, endpoint := range slices.Sorted(maps.Keys(src.Endpoints)) {
		first := len(out)
		for _, op := range src.Endpoints[endpoint].Operates() {
			compiled, err := daemon.Compile(src, endpoint, ingest.Operation(op), nil)
			if err != nil {
				continue
			}
			for _, w := range slices.Concat(compiled.Warnings, wants(compiled.Snapshot)) {
				at := slices.IndexFunc(out[first:], func(o Warning) bool { return o.Warning == w })
				if at < 0 {
					out = append(out, Warning{endpoint, nil, w})
					at = len(out) - 1 - first
				}
				out[first+at].Operations = append(out[first+at].Operations, op)
			}
		}
	}
	return out
}

// WarnOfFile tells what the source of a file cannot do.
func WarnOfFile(e *term.Env, f CheckedFile) {
	for _, w := range f.Warnings {
		e.Hint("%s: warning: %s %s: %s", f.File, w.Endpoint, strings.Join(w.Operations, ", "), w.Warning)
	}
}
