package executor

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/measure"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// answer is what came back for one request: the page, how it was had, and what
// keeps its body.
type answer struct {
	asked   time.Time // when the first request for it was handed to the chain
	page    *extract.Page
	call    *transport.Call
	kept    keeping
	body    []byte   // as it came; nil where it is not kept
	sum     string   // SHA-256 of it, where that is known
	ids     []string // asked for, at a DETAIL endpoint
	detail  bool
	ignored bool // nothing of the answer is taken
	deleted bool // the upstream says of the one id that was asked for that it is deleted
}

// pageThatCame returns the page of the answer; nil if nobody was asked.
func (a *answer) pageThatCame() *extract.Page {
	if a == nil {
		return nil
	}
	return a.page
}

// callMade returns the call of the answer; nil if nobody was asked.
func (a *answer) callMade() *transport.Call {
	if a == nil {
		return nil
	}
	return a.call
}

// fetchAnswer sends a request through the chain and reads the answer as a page of p.
func (r *taskRun) fetchAnswer(ctx context.Context, p *spec.Program, request *exchange.Request, retry fault.RetryPolicy) (*answer, error) {
	r.askedNo = r.batchNo + 1
	request.Correlate(worklog.CorrelationID(r.run.ID, r.askedNo))
	a := &answer{kept: nothingKept, detail: p != r.program}
	r.hold.Release() // the answer before it is committed, or given up
	r.hold.Weigh(p.Response.Format.MemoryPerByte())
	request.Room = r.hold
	limits := r.limitsOf(p)
	r.asking = limits.Key(r.work.Partition.Source)
	a.call = &transport.Call{
		Request: request, Key: r.asking, Limits: limits, Retry: retry,
		Priority: r.program.Priority(), Task: r.work.Lease.TaskID, Held: r.checkLease, Failed: r.noteTry, Measured: r.measureAttempt, Spending: r.allowed.asSpending(),
		PagingToken: r.pagingToken(), Choice: &r.choice,
		SaysEmpty: p.SaysEmpty,
		Weigh: func(response *exchange.Response, f *fault.Error) *fault.Error {
			return explainRefusal(request, response, p.Weigh(response, f))
		},
		Accept: func(response *exchange.Response) (err error) {
			crash.At(crash.BodyRead)
			a.body, a.sum = response.Body, a.call.Notes.SumOf(response.Body)
			a.kept = r.executor.keeper.prepareKeeping(ctx, a.body, a.sum)
			a.page, err = p.Page(response, r.expectedItems(request))
			return err
		},
	}
	a.asked = time.Now()
	_, err := r.executor.chain.Do(ctx, a.call)
	r.countCall(a.call)
	if err != nil && !r.allowed.spent {
		r.recordFailedPage(a, err)
		r.tellLostPage(ctx, a.call, err)
		r.measureFailedPage(ctx, err)
		r.sampleHealth(ctx, a.call, true, time.Since(a.asked)-a.call.Notes.Waited, 0)
	}
	return a, err
}

// limitsOf returns the limits of a step. Both steps of a two-phase source are one
// upstream (I11), so those of the first count, unless the second declares a group of its
// own. What one request costs is the step's own (§4.10.9).
func (r *taskRun) limitsOf(p *spec.Program) gate.Limits {
	limits, step := r.rates.First, r.rates.First
	if p != r.program {
		step = r.rates.Detail
	}
	if step.Group != limits.Group {
		return step
	}
	limits.Cost, limits.PricePerRequest = step.Cost, step.PricePerRequest
	return limits
}

// countCall adds the requests, answers, bytes and waits of a call to the counters of the run.
func (r *taskRun) countCall(c *transport.Call) {
	r.stats.Requests += c.Notes.Requests()
	r.stats.Retries += max(c.Notes.Sent()-1, 0)
	r.stats.Unsent += c.Notes.Unsent
	r.stats.Throttled += c.Notes.Throttled
	for _, status := range c.Notes.Statuses {
		r.stats.Statuses = r.stats.Statuses.Count(status)
	}
	r.noteMembers(c)
	r.stats.BytesIn += c.Notes.BytesIn
	r.stats.WaitMS += c.Notes.Waited.Milliseconds()
	if c.Notes.Response != nil {
		r.stats.Answers++
		r.stats.TookMS += c.Notes.Response.TookMS
		r.stats.SlowestMS = max(r.stats.SlowestMS, c.Notes.Response.TookMS)
		r.stats.Latencies.Count(time.Duration(c.Notes.Response.TookMS) * time.Millisecond)
	}
}

// recordFailedPage keeps what explains a page that could not be had, in case the run ends here.
func (r *taskRun) recordFailedPage(a *answer, err error) {
	request, response := encodeEvidence(a.call, r.replayContext(a, r.pass.state, 0))
	raw, failed := a.kept(nil) // the page is lost anyway; its body is worth keeping, not worth another error
	if failed != nil {
		r.line().Warn("body not kept", "error", failed)
	}
	if last := a.call.Notes.Response; last == nil || last.SHA256 != raw {
		raw = "" // of an attempt before the last
	}
	r.lost = a.call
	r.failed = &ingest.FailedBatch{
		No: r.batchNo + 1, Pass: r.pass.no, PageNo: r.pass.state.Pages + 1, BeforeToken: r.pass.config.Position(r.pass.state),
		Error: err.Error(), Request: request, Response: response, Raw: raw, Exchange: r.describeExchange(a.call, true),
	}
}

// replayContext returns what a replay needs and the ledger does not say.
func (r *taskRun) replayContext(a *answer, before paging.State, beside int) *blackbox.Context {
	c := &blackbox.Context{At: r.lastSeen, Detail: a.detail, IDs: a.ids, Beside: beside, Ignored: a.ignored}
	if a.detail {
		return c
	}
	c.Size, c.Paging = r.pass.config.Size, blackbox.Standing(r.pass.config, before)
	c.Parent = r.parent
	if s, ok := r.pass.axis.InHand(); ok {
		c.AxisPart = &s
	}
	if r.question != nil && !r.question.Now().Equal(r.lastSeen) {
		c.Asked = r.question.Now()
	}
	return c
}

// encodeEvidence returns what is kept of a request and of its answer.
func encodeEvidence(c *transport.Call, with *blackbox.Context) (request, response []byte) {
	request, _ = json.Marshal(blackbox.Evidence{RequestDigest: c.Notes.Request, Context: with}) // texts and numbers
	if c.Notes.Response != nil {
		response, _ = json.Marshal(c.Notes.Response)
	}
	return request, response
}

// bundle is what one request brought.
type bundle struct {
	*answer
	before, after paging.State
	records       []record.Incoming
	rejects       []record.Reject
	counts
	why          string // there is a next page, or none
	newest       time.Time
	checkpoint   ingest.Checkpoint
	origin       []byte // where it was read from, if nobody was asked
	listed       []files.Listed
	rows, unread []int64 // items in quarantine that are among the records, and that nobody can read
}

// counts are the items of a bundle.
type counts struct {
	seen, duplicate, outside int
	excluded                 int // by a rule of the source
	strays                   int // of those seen, what lies outside of the request and is stored
	found                    int // ids of a search page
	beside                   int // of those seen, what was not in the answer
	missed                   int // ids among the records that did not come; they are not seen
}

// commitBundle stores a bundle. An answer that got lost is asked for again once: the
// batch's identity makes the second call return the first one's result. Stop is
// the operator's wish, if there is one.
func (r *taskRun) commitBundle(ctx context.Context, b bundle) (stop, err error) {
	if r.parents != nil {
		b.checkpoint = r.parents.keepRun(b.checkpoint, r.parent.Name)
		defer func() { r.parents.stop = stop }()
	}
	answer, err := r.keepAnswer(&b)
	if err != nil {
		return nil, err // no batch may refer to a body that is not there
	}
	crash.At(crash.BodyKept)
	r.batchNo++
	r.stats.Pages++
	r.stats.Found += b.found
	if page := b.answer.pageThatCame(); page != nil {
		r.stats.Dated += page.Dated
		r.stats.Apart = r.stats.Apart.Add(page.Apart)
	}
	if b.newest.After(r.newest) {
		r.newest = b.newest
	}
	request, response := b.origin, []byte(nil)
	if b.origin == nil {
		with := r.replayContext(b.answer, b.before, b.beside)
		with.Why, with.Missed = b.why, b.missed
		request, response = encodeEvidence(b.call, with)
	}
	refreshed := r.buildRefreshed(&b)
	batch := ingest.BatchCommit{
		Lease: r.work.Lease, Extend: r.executor.config.Lease, Lineage: r.work.Lineage, Partition: r.work.Partition,
		DatasetID: r.work.DatasetID, ExprID: r.work.ExprID, No: r.batchNo, Pass: r.pass.no, PageNo: b.before.Pages + 1, PageSize: r.pass.config.Size,
		BeforeToken: r.pass.config.Position(b.before), AfterToken: r.pass.config.Position(b.after), Records: b.records, Rejects: b.rejects,
		Seen: b.seen, Duplicate: b.duplicate, Outside: b.outside, Excluded: b.excluded, OutsideKept: b.strays, Passed: r.measuredWindow(), Swept: r.sweptBefore(), Request: request, Response: response, Raw: answer.ref,
		Refreshed: refreshed, SeenIDs: r.seenIDs(b.answer), Listed: b.listed, Checkpoint: b.checkpoint, RunStats: r.stats, Exchange: r.describeExchange(b.callMade(), !b.checkpoint.Done), Answers: r.run.Probe && r.stats.Pages == 1 && b.call != nil,
		Packed: answer.packed, Rest: answer.rest, AnswerBytes: answer.bytes,
	}
	began := time.Now()
	result, err := r.storeBatch(ctx, batch)
	if errors.Is(err, ingest.ErrItemsStored) {
		batch.Rest = nil
		if batch.Raw, err = b.kept(batch.Packed); err != nil {
			return nil, err
		}
		result, err = r.storeBatch(ctx, batch)
	}
	if err != nil {
		r.unsure = &batch
		r.executor.meter.NoteBatch(r.work.Partition, measure.Batch{})
		return nil, err
	}
	crash.At(crash.Committed)
	if r.parents != nil {
		r.parents.noteStored(b.checkpoint)
	}
	r.failed, r.lost, r.batchID, r.told = nil, nil, result.BatchID, r.stats.Actions
	r.noteStored(batch.Exchange, result)
	r.tellBatch(ctx, &b, result)
	r.describeBatch(span.Of(ctx), &b, result)
	r.measureBatch(b.answer, result.Stats, time.Since(began))
	if b.call != nil {
		r.executor.troubles.notePage(r.work.Partition)
		r.failingSince = time.Time{}
	}
	if b.call != nil { // nil: nobody was asked
		r.sampleHealth(ctx, b.call, false, 0, time.Since(began))
	}
	r.stats.BatchStats = r.stats.BatchStats.Add(result.Stats)
	r.countRejects(&b, result.Stats)
	switch {
	case result.Cancel:
		return errCancelled, nil
	case result.Pause:
		return errPaused, nil
	}
	return nil, nil
}

// storeBatch writes a batch, and asks once more where the answer got lost.
func (r *taskRun) storeBatch(ctx context.Context, batch ingest.BatchCommit) (result ingest.BatchResult, err error) {
	ctx, s := span.Begin(ctx, span.Commit)
	defer func() {
		if errors.Is(err, ingest.ErrItemsStored) { // it is committed again, with its answer whole
			s.End(nil)
			return
		}
		s.End(err)
	}()
	result, err = r.executor.store.CommitBatch(ctx, batch)
	if err != nil && !errors.Is(err, fault.ErrStale) && !errors.Is(err, ingest.ErrItemsStored) && ctx.Err() == nil {
		result, err = r.executor.store.CommitBatch(ctx, batch)
	}
	return result, err
}

// retryUnsureCommit asks once more for a commit whose answer never came, before the run
// ends: its account must hold every batch that is stored (I4).
func (r *taskRun) retryUnsureCommit(ctx context.Context) {
	if r.unsure == nil {
		return
	}
	if result, err := r.executor.store.CommitBatch(ctx, *r.unsure); err == nil {
		r.failed = nil // it would stand in the ledger under the same number
		r.stats.BatchStats = r.stats.BatchStats.Add(result.Stats)
	}
}
