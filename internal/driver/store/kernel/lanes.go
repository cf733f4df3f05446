package kernel

import (
	"context"
	"sync"
)

// Lane is the queue a write waits in. On a database with one writer, short
// steps that others depend on go before bulk ones, so that a lease never runs
// out behind a row of commits.
type Lane int

const (
	Urgent Lane = iota // claims, renewals, finishes
	Bulk               // batches, plans
)

// lanes is a mutex with two queues: whoever waits in the urgent one goes first.
type lanes struct {
	mu      sync.Mutex
	held    bool
	waiting [2][]chan struct{}
}

func (l *lanes) enterLane(ctx context.Context, in Lane) error {
	l.mu.Lock()
	if !l.held {
		l.held = true
		l.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	l.waiting[in] = append(l.waiting[in], turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, waiting := range l.waiting[in] {
			if waiting == turn {
				l.waiting[in] = append(l.waiting[in][:i], l.waiting[in][i+1:]...)
				return ctx.Err()
			}
		}
		l.passOn() // our turn came at the same moment: hand it on
		return ctx.Err()
	}
}

func (l *lanes) leaveLane() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passOn()
}

func (l *lanes) passOn() {
	for in := range l.waiting {
		if queue := l.waiting[in]; len(queue) > 0 {
			l.waiting[in] = queue[1:]
			close(queue[0])
			return
		}
	}
	l.held = false
}
