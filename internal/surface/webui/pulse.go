package webui

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/surface/recent"
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

// forgetAnswers drops what viewers share, after somebody acted: who acted must not read of
// what he has just mended.
func (s *site) forgetAnswers() {
	s.pulse.Forget()
	for _, m := range s.maps {
		m.Forget()
	}
	s.sourceMaps.Forget()
	for _, r := range s.rates {
		r.forget()
	}
}

// pulse is the status that the bar of every page and the overview share.
type pulse struct{ *recent.Answer[view.Status] }

func newPulse(from StatusReader, longest time.Duration) *pulse {
	return &pulse{recent.New(longest, func(ctx context.Context, _ time.Time) (view.Status, error) { return from.Status(ctx) })}
}

// status returns how the sources stand.
func (p *pulse) status(ctx context.Context) (view.Status, error) { return p.Get(ctx, time.Time{}) }

// badgeAge is how old the number of findings in the bar may be: it must not make other pages
// wait for the status.
const badgeAge = 30 * time.Second

// countNeeds counts the findings that need a person, of the sources that a caller sees.
func (p *pulse) countNeeds(ctx context.Context, c access.Caller) (n int, known bool) {
	if c.Role == "" {
		return 0, false
	}
	s, err := p.Within(ctx, time.Time{}, badgeAge)
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
