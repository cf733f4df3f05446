package executor

import (
	"slices"
	"sync"

	"github.com/patra-ingest/patra/internal/core/spec"
)

// programs are compiled snapshots, the last used ones: a process that runs for
// years meets every version of every source (I14).
type programs struct {
	mu    sync.Mutex
	known []compiled // last used first; so few that looking through them is nothing beside a task
}

type compiled struct {
	fingerprint string
	program     *spec.Program
}

// mostPrograms is more than one process works with at a time.
const mostPrograms = 64

// getProgram returns a compiled snapshot, which counts as the last used one then.
func (p *programs) getProgram(fingerprint string) (*spec.Program, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.known, func(c compiled) bool { return c.fingerprint == fingerprint })
	if at < 0 {
		return nil, false
	}
	found := p.known[at]
	copy(p.known[1:at+1], p.known[:at])
	p.known[0] = found
	return found.program, true
}

// keepProgram adds a compiled snapshot and forgets the one that was not used for longest.
// Whoever works with that has it until the end of its slice. Of two who compiled the same
// at once, both keep the second: programs do not change.
func (p *programs) keepProgram(fingerprint string, program *spec.Program) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = slices.DeleteFunc(p.known, func(c compiled) bool { return c.fingerprint == fingerprint })
	p.known = slices.Insert(p.known, 0, compiled{fingerprint, program})
	if len(p.known) > mostPrograms {
		clear(p.known[mostPrograms:])
		p.known = p.known[:mostPrograms]
	}
}
