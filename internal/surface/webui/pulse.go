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

// renewedWithin is how much older an answer may be where it is renewed in the meantime: whoever loads a page
// every ten seconds does not wait for it each time. What somebody does makes all answers new.
const renewedWithin = 7 * time.Second

// memo keeps one answer for a short time.
type memo[T any] struct {
	read     func(ctx context.Context, now time.Time) (T, error)
	longest  time.Duration // how long that may take; zero: as long as it likes
	mu       sync.Mutex    // held while it is computed for somebody who waits, so that it is computed once
	last     T
	at       time.Time
	err      error
	renewing bool
	dropped  int // how often answers were forgotten
}

// value returns an answer that was computed at most pulseAge ago, or a little earlier, which is renewed then.
func (m *memo[T]) value(ctx context.Context, now time.Time) (T, error) {
	return m.within(ctx, now, pulseAge)
}

// within returns an answer that was computed at most so long ago, or a little earlier, which is renewed then.
func (m *memo[T]) within(ctx context.Context, now time.Time, age time.Duration) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// Whoever asked may go away; the others want the answer.
	ctx = context.WithoutCancel(ctx)
	if old := time.Since(m.at); !m.at.IsZero() && m.err == nil && old < age+renewedWithin {
		if old >= age && !m.renewing {
			m.renewing = true
			go m.renew(ctx, now, m.dropped)
		}
		return m.last, nil
	}
	m.last, m.err = m.compute(ctx, now)
	m.at = time.Now()
	return m.last, m.err
}

// renew computes the answer while nobody waits for it. One that was begun before answers were forgotten is of no
// use, and after an error the next who asks hears what is wrong.
func (m *memo[T]) renew(ctx context.Context, now time.Time, dropped int) {
	last, err := m.compute(ctx, now)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.renewing = false
	switch {
	case m.dropped != dropped:
	case err != nil:
		m.at = time.Time{}
	default:
		m.last, m.at = last, time.Now()
	}
}

// compute reads a new answer, bounded by itself: who asked first may have gone.
func (m *memo[T]) compute(ctx context.Context, now time.Time) (T, error) {
	if m.longest > 0 {
		bounded, cancel := context.WithTimeout(ctx, m.longest)
		defer cancel()
		ctx = bounded
	}
	return m.read(ctx, now)
}

// forget makes the next answer a new one.
func (m *memo[T]) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = time.Time{}
	m.dropped++
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

func newPulse(from StatusReader, longest time.Duration) *pulse {
	return &pulse{memo[view.Status]{longest: longest, read: func(ctx context.Context, _ time.Time) (view.Status, error) { return from.Status(ctx) }}}
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
