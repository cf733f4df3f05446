package executor

import (
	"maps"
	"slices"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// noteMembers counts which credentials of a pool the requests of a call were signed with, and tells once a run
// which of them are not chosen because they were refused.
func (r *taskRun) noteMembers(c *transport.Call) {
	for name, requests := range c.Notes.Members {
		r.stats.Members = r.stats.Members.Count(name, requests)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Notes.Aside)) {
		why := c.Notes.Aside[name]
		if r.stats.Members[name].Refused != "" {
			continue
		}
		r.stats.Members = r.stats.Members.Add(ingest.MemberTally{name: {Refused: why}})
		r.line().Warn("a credential of the pool is refused, and others are used in its place", "credential", name, "reason", why)
	}
}
