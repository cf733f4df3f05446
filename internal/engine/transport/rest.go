package transport

import (
	"context"
	"time"
)

type restKey struct{}

// WithRest tells the runner of a task while it only waits: for the rate gate, or
// for a wait that the upstream asked for. The change is +1 when a wait turns out
// to be a long one, and -1 when that wait is over. Of one wait the second call
// comes after the first has returned; calls of different waits may overlap.
func WithRest(ctx context.Context, told func(change int)) context.Context {
	return context.WithValue(ctx, restKey{}, told)
}

// restAfter is how long a wait may take without being worth telling: pacing at
// some requests a second is work.
const restAfter = 2 * time.Second

// beginRest begins a wait; what it returns ends it.
func beginRest(ctx context.Context) (over func()) {
	told, _ := ctx.Value(restKey{}).(func(int))
	if told == nil {
		return func() {}
	}
	begun := make(chan struct{})
	long := time.AfterFunc(restAfter, func() {
		defer close(begun)
		told(+1)
	})
	return func() {
		if !long.Stop() {
			<-begun
			told(-1)
		}
	}
}
