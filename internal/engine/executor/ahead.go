package executor

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// looksAhead reports whether all others wait until this run knows that the upstream is
// back.
func (r *taskRun) looksAhead() bool { return r.run.Probe && r.stats.Pages == 0 && !r.alive }

// tryOnceAhead limits the retry policy of a run that looks ahead to one try: one request
// is enough to know.
func (r *taskRun) tryOnceAhead(p fault.RetryPolicy) fault.RetryPolicy {
	if r.looksAhead() {
		p.MaxAttempts = 1
	}
	return p
}

// sign is what a look elsewhere says of an upstream that was in trouble.
type sign int

const (
	silence sign = iota // there is nothing else to ask
	stillDown
	isBack
)

// lookElsewhere asks for something else when the one request of a run that looks
// ahead has failed. Without an answer the upstream is down, and two requests were
// enough to know. With one it is the page: the run goes on like any other, and
// its failure is its own. Otherwise a task with such a page, alone at its
// endpoint, would be sent ahead again and again and never be given up.
func (r *taskRun) lookElsewhere(ctx context.Context) sign {
	other, err := r.first.requestElsewhere()
	if err != nil {
		return silence
	}
	if r.alive = r.probeUpstream(ctx, other); r.alive {
		return isBack
	}
	return stillDown
}

// errorUnlessBack returns the cause, or nil if the upstream was found to be back.
func (s sign) errorUnlessBack(cause error) error {
	if s == isBack {
		return nil
	}
	return cause
}
