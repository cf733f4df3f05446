package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// maxRemarks bounds what a run says about its conditions; its counters go on.
const maxRemarks = 50

// remark notes an action against a condition: in the run's counters, in words, and in the log.
func (r *taskRun) remark(c health.Condition, a health.Action, format string, args ...any) {
	r.stats.Actions.Count(a, 1)
	if len(r.remarks) < maxRemarks {
		text := fmt.Sprintf(format, args...)
		r.remarks = append(r.remarks, health.Remark{Condition: c, Action: a, Page: r.stats.Pages, Text: text})
		r.line().Info("self-healing", "condition", string(c), "action", string(a), "detail", text)
	}
}

// sampleHealth tells the partition's book how a page came, or did not, and notes what
// follows from it. What the gate does about a 429 it does by itself.
func (r *taskRun) sampleHealth(ctx context.Context, c *transport.Call, failed bool, took, commit time.Duration) {
	s := health.Sample{Requests: c.Notes.Attempts, Throttled: c.Notes.Throttled, Took: took, Commit: commit}
	if s.Failed = c.Notes.Attempts - c.Notes.Throttled; !failed {
		s.Failed--
	}
	if answer := c.Notes.Response; answer != nil {
		s.Took, s.Bytes = time.Duration(answer.TookMS)*time.Millisecond, int64(answer.Bytes)
	}
	if s.Throttled > 0 {
		r.remark(health.Throttled, health.LowerRate, "told to slow down %d times", s.Throttled)
	}
	for _, change := range r.executor.health.Page(ctx, r.work.Partition, s) {
		rule, _ := health.RuleOf(change.Condition)
		for _, a := range []health.Action{health.LowerConcurrency, health.PausePlanning} {
			if change.Worse() && rule.Does(a, change.To) {
				r.remark(change.Condition, a, "%s", change)
			}
		}
	}
}

// fitPageSize chooses the size of the next page (§12.2): see paging.Isolation.Fit.
func (l *listWalk) fitPageSize(ctx context.Context) {
	p := &l.pass
	usual, why := l.executor.health.PageSize(ctx, l.work.Partition, l.program.Paging.Size)
	was := p.config.Size
	var by paging.Bound
	p.config, p.state, by = l.isolation.Fit(p.config, p.state, p.begun, usual)
	switch by {
	case paging.ByLargest:
		why = health.PageTooLarge
	case paging.BySearch:
		why = health.PoisonPage
	}
	if p.state.FirstPage() && !l.isolation.Searching() {
		p.begun = p.config.Size
	}
	if p.config.Size < was {
		l.remark(why, health.ShrinkPage, "pages of %d instead of %d", p.config.Size, was)
	}
}

// circuitAfter returns how many failed runs open the breaker of the source; zero where
// the run ended before its source was read.
func (r *taskRun) circuitAfter() int {
	if r.program == nil {
		return 0
	}
	return r.program.Healing.CircuitAfter
}
