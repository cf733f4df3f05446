// Package recent keeps answers for a moment, so that many who look at the same thing have it
// computed once.
package recent

import (
	"context"
	"sync"
	"time"
)

// Age is how old an answer may be that viewers share.
const Age = 3 * time.Second

// renewedWithin is how much older an answer may be where it is renewed in the meantime: whoever asks
// every ten seconds does not wait for it each time. What somebody does makes all answers new.
const renewedWithin = 7 * time.Second

// Answer keeps one answer for a short time. It is safe for concurrent use.
type Answer[T any] struct {
	read     func(ctx context.Context, now time.Time) (T, error)
	longest  time.Duration
	mu       sync.Mutex // held while it is computed for somebody who waits, so that it is computed once
	last     T
	at       time.Time
	err      error
	renewing bool
	dropped  int // how often answers were forgotten
}

// New makes an answer that is read when somebody asks. Longest is how long that may take; zero: as long as
// it likes.
func New[T any](longest time.Duration, read func(ctx context.Context, now time.Time) (T, error)) *Answer[T] {
	return &Answer[T]{read: read, longest: longest}
}

// Get returns an answer that was computed at most Age ago, or a little earlier, which is renewed then.
// Now is handed to who computes it.
func (m *Answer[T]) Get(ctx context.Context, now time.Time) (T, error) {
	return m.Within(ctx, now, Age)
}

// Within returns an answer that was computed at most so long ago, or a little earlier, which is renewed then.
func (m *Answer[T]) Within(ctx context.Context, now time.Time, age time.Duration) (T, error) {
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
func (m *Answer[T]) renew(ctx context.Context, now time.Time, dropped int) {
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
func (m *Answer[T]) compute(ctx context.Context, now time.Time) (T, error) {
	if m.longest > 0 {
		bounded, cancel := context.WithTimeout(ctx, m.longest)
		defer cancel()
		ctx = bounded
	}
	return m.read(ctx, now)
}

// Forget makes the next answer a new one.
func (m *Answer[T]) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = time.Time{}
	m.dropped++
}
