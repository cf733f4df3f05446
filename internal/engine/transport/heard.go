package transport

import "context"

type heardKey struct{}

// WithFailures reports every try that fails under a context to hear, whichever
// call it belongs to: a count for a plan has no task that could tell.
func WithFailures(ctx context.Context, hear func(FailedTry)) context.Context {
	return context.WithValue(ctx, heardKey{}, hear)
}

// tellFailure reports a failed try to the listeners of the call.
func (c *Call) tellFailure(ctx context.Context, t FailedTry) {
	t.Most = c.Retry.MaxAttempts
	if c.Failed != nil {
		c.Failed(t)
	}
	if hear, _ := ctx.Value(heardKey{}).(func(FailedTry)); hear != nil {
		hear(t)
	}
}
