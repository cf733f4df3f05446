package recent

import (
	"context"
	"sync"
	"time"
)

// Many keeps a few answers of one kind, by what was asked. It is safe for concurrent use.
type Many[K comparable, T any] struct {
	read    func(ctx context.Context, asked K, now time.Time) (T, error)
	longest time.Duration
	most    int

	mu    sync.Mutex
	known map[K]*Answer[T]
	order []K // what was asked last stands last
}

// NewMany keeps up to so many answers; those that nobody asked for longest make room. Longest is how long
// one may take to read; zero: as long as it likes.
func NewMany[K comparable, T any](most int, longest time.Duration, read func(ctx context.Context, asked K, now time.Time) (T, error)) *Many[K, T] {
	return &Many[K, T]{read: read, longest: longest, most: most, known: map[K]*Answer[T]{}}
}

// Get returns an answer as Answer.Get does. Whoever gets it must not change it: others have it too.
func (m *Many[K, T]) Get(ctx context.Context, asked K, now time.Time) (T, error) {
	return m.find(asked).Get(ctx, now)
}

func (m *Many[K, T]) find(asked K) *Answer[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, one := range m.order {
		if one == asked {
			m.order = append(append(m.order[:i:i], m.order[i+1:]...), asked)
			return m.known[asked]
		}
	}
	if len(m.order) == m.most {
		delete(m.known, m.order[0])
		m.order = m.order[1:]
	}
	one := New(m.longest, func(ctx context.Context, now time.Time) (T, error) { return m.read(ctx, asked, now) })
	m.known[asked], m.order = one, append(m.order, asked)
	return one
}

// Forget makes all answers new.
func (m *Many[K, T]) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.known)
	m.order = nil
}
