package webui

import (
	"context"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
)

// StatusReader tells how the sources stand and what goes on, for the overview and the bar.
type StatusReader interface {
	// Status tells how sources stand and what a person should look at.
	Status(ctx context.Context) (view.Status, error)
	// Throughput tells what runs did, by step of time and partition.
	Throughput(ctx context.Context, q view.SumQuery) ([]view.WorkSum, error)
	// RunningPlans lists the plans that are not at their end, with how far they are.
	RunningPlans(ctx context.Context) ([]view.RunningPlan, error)
}

// pulseAge is how old the status may be that pages show: with many viewers it is computed
// once for all of them.
const pulseAge = 3 * time.Second

// pulse is the status that pages of many viewers share.
type pulse struct {
	from StatusReader
	mu   sync.Mutex // held while it is computed, so that it is computed once
	last view.Status
	read time.Time
	err  error
}

func newPulse(from StatusReader) *pulse { return &pulse{from: from} }

// status returns how the sources stand, at most pulseAge ago.
func (p *pulse) status(ctx context.Context) (view.Status, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.read.IsZero() && time.Since(p.read) < pulseAge && p.err == nil {
		return p.last, nil
	}
	// Whoever asked may go away; the others want the answer.
	p.last, p.err = p.from.Status(context.WithoutCancel(ctx))
	p.read = time.Now()
	return p.last, p.err
}

// countNeeds counts the findings that need a person, of the sources that a caller sees.
func (p *pulse) countNeeds(ctx context.Context, c access.Caller) (n int, known bool) {
	if c.Role == "" || p.from == nil {
		return 0, false
	}
	s, err := p.status(ctx)
	if err != nil {
		return 0, false
	}
	for _, f := range s.Findings {
		if !f.Heals && c.Sees(f.Subject.Source) {
			n++
		}
	}
	return n, true
}
