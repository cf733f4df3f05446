package executor

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// running is one run of one task.
type running struct {
	executor    *Executor
	work        ingest.Work
	run         ingest.Run
	correlation string
	program     *spec.Program
	question    *spec.Question // what the slice asks; nil before its first request
	budget      slicing.Budget
	asked       window.Window // what the upstream is asked for: the slice and its overlap
	began       time.Time

	pass     int
	state    paging.State
	seen     map[uint64]struct{} // ids of this pass, as short hashes: tells a repeated page from progress
	read     int                 // items of this pass, and those of them that were unusable
	rejected int
	batchNo  int
	stats    ingest.RunStats
	newest   time.Time
	lastSeen time.Time // store clock before the last request
	failed   *ingest.FailedBatch
	unsure   *ingest.BatchCommit // a page whose commit may or may not have happened
}

func (r *running) policy() fault.RetryPolicy {
	if r.program == nil {
		return fault.RetryPolicy{}.WithDefaults()
	}
	return r.program.Retry
}

// pages reads the slice to its end.
func (r *running) pages(ctx context.Context) (ingest.Outcome, error) {
	if err := r.prepare(); err != nil {
		return ingest.Outcome{}, err
	}
	if r.run.Checkpoint.Done {
		return succeeded(), nil // the last run read everything and died before saying so
	}
	for {
		done, err := r.page(ctx)
		if err == nil && !done {
			continue
		}
		if err == nil {
			return succeeded(), nil
		}
		if !r.mayStartOver(ctx, err) {
			return ingest.Outcome{}, err
		}
		r.executor.log.Warn("slice starts over", "task", r.work.Lease.TaskID, "run", r.run.ID, "pass", r.pass+1, "reason", err)
		if err := r.breathe(ctx); err != nil {
			return ingest.Outcome{}, err
		}
		r.startOver()
	}
}

func succeeded() ingest.Outcome {
	return ingest.Outcome{Task: ingest.TaskSucceeded, Run: ingest.RunSucceeded}
}

func (r *running) prepare() (err error) {
	if r.program, err = r.executor.program(r.work); err != nil {
		return fault.New(fault.Internal, err)
	}
	var s slicing.Spec
	if err := json.Unmarshal(r.work.SliceSpec, &s); err != nil {
		return fault.New(fault.Internal, fmt.Errorf("read slice spec: %w", err))
	}
	r.budget, r.asked, r.began = s.Budget, r.work.Window, time.Now()
	if s.Window.Asked != nil {
		r.asked = *s.Window.Asked // the overlap is read too; what is owned stays what coverage counts (S§5.4)
	}
	if r.run.Cancel {
		return errCancelled
	}
	if s.Telemetry.Capped {
		return fault.Newf(fault.Capped, "the upstream serves fewer items of one query than this window holds, and no finer cut exists")
	}
	if r.run.IdleLeases > r.executor.config.MaxIdleLeases {
		return fault.Newf(fault.LeasesSpent, "leased %d times without one committed batch", r.run.IdleLeases)
	}
	r.pass, r.state = max(r.run.Checkpoint.Pass, 1), r.program.Paging.First()
	r.seen = map[uint64]struct{}{}
	if last := r.run.Checkpoint; last.Pass > 0 {
		if *r.program.Paging.Replayable {
			r.state, r.read, r.rejected = last.Paging, last.Read, last.Rejected
		} else if !last.Done {
			r.pass++ // the token died with the worker that held it (D§5.14)
			r.stats.Restarts++
		}
	}
	return nil
}

func (r *running) startOver() {
	r.pass++
	r.stats.Restarts++
	r.state = r.program.Paging.First()
	r.seen = map[uint64]struct{}{}
	r.read, r.rejected = 0, 0
	r.failed = nil
}

// breathe waits before the slice is started over: an upstream that just lost an
// answer is not helped by the same walk at once.
func (r *running) breathe(ctx context.Context) error {
	timer := time.NewTimer(r.program.Retry.Backoff(r.stats.Restarts+1, rand.Float64()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// mayStartOver: the walk through the pages is broken, the slice is not.
func (r *running) mayStartOver(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, fault.ErrStale) {
		return false
	}
	var f *fault.Error
	if !errors.As(err, &f) || r.stats.Restarts >= r.executor.config.MaxRestarts {
		return false
	}
	switch {
	case f.Code == fault.TokenLost, f.Code == fault.ShortCount:
		return true
	case r.state.FirstPage():
		return false
	default: // an upstream that no longer knows our token says so in many ways
		return r.program.Paging.Type == paging.Token && (f.Status == 400 || f.Status == 404 || f.Status == 410)
	}
}

// page fetches, reads and commits one page.
func (r *running) page(ctx context.Context) (done bool, err error) {
	if err := r.withinBudget(); err != nil {
		return false, err
	}
	now, err := r.executor.store.Now(ctx) // before the request is sent: it orders equal stamps (D§5.13)
	if err != nil {
		return false, err
	}
	r.lastSeen = now
	page, call, err := r.fetch(ctx, now)
	if err != nil {
		return false, err
	}
	observed := page.Says
	observed.New = r.countNew(page.Keys)
	decision := r.program.Paging.Advance(r.state, observed)
	if decision.Err != nil && decision.Err.Code != fault.Budget {
		r.forget(call, decision.Err)
		return false, decision.Err
	}
	if decision.Done {
		if decision.Err = r.tooManyRejects(page); decision.Err != nil {
			decision.Done = false // the page is kept, the slice is not covered
		}
	}
	cancelled, err := r.commit(ctx, page, call, decision)
	switch {
	case err != nil:
		return false, err
	case decision.Err != nil:
		return false, decision.Err
	case cancelled && !decision.Done:
		return false, errCancelled
	}
	r.state = decision.Next
	return decision.Done, nil
}

func (r *running) withinBudget() error {
	switch {
	case r.stats.Requests >= r.budget.MaxRequests:
		return fault.Newf(fault.Budget, "slicing.maxRequests of %d reached", r.budget.MaxRequests)
	case r.stats.Seen >= r.budget.MaxRecords:
		return fault.Newf(fault.Budget, "slicing.maxRecords of %d reached", r.budget.MaxRecords)
	case time.Since(r.began) > time.Duration(r.budget.MaxDurationSec)*time.Second:
		return fault.Newf(fault.Budget, "slicing.maxDurationSec of %d reached", r.budget.MaxDurationSec)
	}
	return nil
}

func (r *running) countNew(keys []record.Key) (fresh int) {
	for _, key := range keys {
		short := binary.BigEndian.Uint64(key[:8]) // a slice may have millions of items (I14)
		if _, known := r.seen[short]; !known {
			r.seen[short] = struct{}{}
			fresh++
		}
	}
	return fresh
}

// request is the one for the next page. What the slice asks for is rendered
// once: all its pages must ask the same question.
func (r *running) request(now time.Time) (request *exchange.Request, err error) {
	if r.question == nil {
		if r.question, err = r.program.Ask(r.asked, now); err != nil {
			return nil, err
		}
	}
	return r.question.Page(r.state)
}

func (r *running) fetch(ctx context.Context, now time.Time) (*extract.Page, *transport.Call, error) {
	request, err := r.request(now)
	if err != nil {
		return nil, nil, fault.New(fault.Render, err)
	}
	request.Replayable = *r.program.Paging.Replayable || r.state.FirstPage()
	request.Header.Set("X-Ingest-Correlation-Id", fmt.Sprintf("%s-%d", r.correlation, r.batchNo+1))
	var page *extract.Page
	call := &transport.Call{
		Request: request, Key: r.work.Partition.Source + "/" + r.work.Partition.Endpoint, Limits: r.program.Rate, Retry: r.program.Retry,
		Accept: func(response *exchange.Response) (err error) {
			page, err = r.program.Read.Read(response.Body, extract.Asked{Window: r.asked, FetchAt: now, MappingID: r.work.MappingID})
			return err
		},
	}
	_, err = r.executor.chain.Do(ctx, call)
	r.note(call)
	if err != nil {
		r.forget(call, err)
		return nil, call, err
	}
	return page, call, nil
}

func (r *running) note(c *transport.Call) {
	r.stats.Requests += c.Notes.Attempts
	r.stats.Retries += max(c.Notes.Attempts-1, 0)
	r.stats.Throttled += c.Notes.Throttled
	r.stats.BytesIn += c.Notes.BytesIn
	r.stats.WaitMS += c.Notes.Waited.Milliseconds()
}

// forget keeps what explains a page that could not be had, in case the run ends here.
func (r *running) forget(c *transport.Call, err error) {
	request, response := evidence(c)
	r.failed = &ingest.FailedBatch{
		No: r.batchNo + 1, Pass: r.pass, PageNo: r.state.Pages + 1, BeforeToken: r.state.Token, Error: err.Error(), Request: request, Response: response,
	}
}

func evidence(c *transport.Call) (request, response []byte) {
	request, _ = json.Marshal(c.Notes.Request) // digests are texts and numbers
	if c.Notes.Response != nil {
		response, _ = json.Marshal(c.Notes.Response)
	}
	return request, response
}

// commit stores the page. An answer that got lost is asked for again once: the
// batch's identity makes the second call return the first one's result.
func (r *running) commit(ctx context.Context, page *extract.Page, call *transport.Call, d paging.Decision) (cancelled bool, err error) {
	r.batchNo++
	r.stats.Pages++
	r.read += page.Seen
	r.rejected += len(page.Rejects)
	if page.Newest.After(r.newest) {
		r.newest = page.Newest
	}
	request, response := evidence(call)
	batch := ingest.BatchCommit{
		Lease: r.work.Lease, Extend: r.executor.config.Lease, Lineage: r.work.Lineage, Partition: r.work.Partition,
		DatasetID: r.work.DatasetID, ExprID: r.work.ExprID, No: r.batchNo, Pass: r.pass, PageNo: r.state.Pages + 1, PageSize: r.program.Paging.Size,
		BeforeToken: r.state.Token, AfterToken: d.Next.Token, Records: page.Records, Rejects: page.Rejects,
		Seen: page.Seen, Duplicate: page.Duplicate, Outside: page.Outside, Request: request, Response: response,
		Checkpoint: ingest.Checkpoint{Pass: r.pass, Paging: d.Next, Done: d.Done, Read: r.read, Rejected: r.rejected}, RunStats: r.stats,
	}
	result, err := r.executor.store.CommitBatch(ctx, batch)
	if err != nil && !errors.Is(err, fault.ErrStale) && ctx.Err() == nil {
		result, err = r.executor.store.CommitBatch(ctx, batch)
	}
	if err != nil {
		r.unsure = &batch
		return false, err
	}
	r.stats.BatchStats = r.stats.BatchStats.Add(result.Stats)
	return result.Cancel, nil
}

// settle asks once more for a commit whose answer never came, before the run
// ends: its account must hold every batch that is stored (I4).
func (r *running) settle(ctx context.Context) {
	if r.unsure == nil {
		return
	}
	if result, err := r.executor.store.CommitBatch(ctx, *r.unsure); err == nil {
		r.stats.BatchStats = r.stats.BatchStats.Add(result.Stats)
	}
}

// tooManyRejects fails a slice most of whose items were unusable: that is a
// changed schema, not bad luck (D§5.16).
func (r *running) tooManyRejects(last *extract.Page) *fault.Error {
	rejected, read := r.rejected+len(last.Rejects), r.read+last.Seen
	limit := r.program.Response.MaxRejectRate
	if read == 0 || float64(rejected)/float64(read) <= limit {
		return nil
	}
	return fault.Newf(fault.RejectRate, "%d of %d items were rejected, more than response.maxRejectRate of %g", rejected, read, limit)
}
