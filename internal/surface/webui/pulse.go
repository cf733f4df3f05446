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

// pulseAge is how old an answer may be that pages of many viewers share: it is computed once
// for all of them.
const pulseAge = 3 * time.Second

// memo keeps one answer for a short time.
type memo[T any] struct {
	read func(ctx context.Context, now time.Time) (T, error)
	mu   sync.Mutex // held while it is computed, so that it is computed once
	last T
	at   time.Time
	err  error
}

// value returns an answer that was computed at most pulseAge ago.
func (m *memo[T]) value(ctx context.Context, now time.Time) (T, error) {
	return m.within(ctx, now, pulseAge)
}

// within returns an answer that was computed at most so long ago.
func (m *memo[T]) within(ctx context.Context, now time.Time, age time.Duration) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.at.IsZero() && time.Since(m.at) < age && m.err == nil {
		return m.last, nil
	}
	// Whoever asked may go away; the others want the answer.
	m.last, m.err = m.read(context.WithoutCancel(ctx), now)
	m.at = time.Now()
	return m.last, m.err
}

// forget makes the next answer a new one.
func (m *memo[T]) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = time.Time{}
}

// forgetAnswers drops what viewers share, after somebody acted: who acted must not read of
// what he has just mended.
func (s *site) forgetAnswers() {
	s.pulse.forget()
	for _, m := range s.maps {
		m.forget()
	}
}

// pulse is the status that the bar of every page and the overview share.
type pulse struct{ memo[view.Status] }

func newPulse(from StatusReader) *pulse {
	return &pulse{memo[view.Status]{read: func(ctx context.Context, _ time.Time) (view.Status, error) { return from.Status(ctx) }}}
}

// status returns how the sources stand.
func (p *pulse) status(ctx context.Context) (view.Status, error) { return p.value(ctx, time.Time{}) }

// badgeAge is how old the number of findings in the bar may be: it must not make other pages
// wait for the status.
const badgeAge = 30 * time.Second

// countNeeds counts the findings that need a person, of the sources that a caller sees.
func (p *pulse) countNeeds(ctx context.Context, c access.Caller) (n int, known bool) {
	if c.Role == "" {
		return 0, false
	}
	s, err := p.within(ctx, time.Time{}, badgeAge)
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
