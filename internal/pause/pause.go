// Package pause waits, and stops waiting when nobody needs it any more: the one place
// for what services and drivers would else each write with a timer and a select.
//
// It must never wait on after its context has ended, and never leave a timer behind.
package pause

import (
	"context"
	"time"
)

// For waits as long as it is told. If its context ends first, it returns the cause.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Until waits as For does, up to an instant; one that has passed needs no wait.
func Until(ctx context.Context, at time.Time) error { return For(ctx, time.Until(at)) }
