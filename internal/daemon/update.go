package daemon

import (
	"slices"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// Refresh is what an update is asked to look at.
type Refresh = planner.Refresh

// Current returns the expressions and mappings that records of an endpoint are
// made under today, over all its operations: one of them may declare its own, and
// what that one stored is not outdated.
func Current(src *registry.Source, endpoint string, overrides []registry.Override) (exprs, mappings []string, err error) {
	for _, op := range src.Operates(endpoint) {
		c, err := Compile(src, endpoint, ingest.Operation(op), overrides)
		if err != nil {
			return nil, nil, err
		}
		hash, err := c.Prototype.Hash()
		if err != nil {
			return nil, nil, err
		}
		if !slices.Contains(exprs, hash) {
			exprs = append(exprs, hash)
		}
		if !slices.Contains(mappings, c.MappingHash) {
			mappings = append(mappings, c.MappingHash)
		}
	}
	return exprs, mappings, nil
}
