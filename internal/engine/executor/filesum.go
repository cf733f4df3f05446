package executor

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// announced returns what is known of the file that must come: what the listing says of it, and the
// checksum that stands beside it.
func (f *fileWalk) announced() files.Listed {
	l := f.owed.Listed
	if f.sumBeside != "" {
		l.Checksum = f.sumBeside
	}
	return l
}

// fetchSum asks for the checksum that stands in a file beside the file, within the rate as every request.
// Without it the file does not count: nothing vouches for it (D§5.26).
func (f *fileWalk) fetchSum(ctx context.Context) error {
	suffix := f.program.Files.SumSuffix
	if suffix == "" || f.sumBeside != "" {
		return nil
	}
	p := f.program.Detail
	request, err := p.AskFile(f.owed.SumAddress(suffix), f.lastSeen)
	if err != nil {
		return renderFault(err)
	}
	f.askedNo = f.batchNo + 1
	request.Correlate(worklog.CorrelationID(f.run.ID, f.askedNo))
	request.Replayable, request.MaxBodyBytes = true, files.LongestSum
	limits := f.limitsOf(p)
	f.asking = limits.Key(f.work.Partition.Source)
	call := &transport.Call{
		Request: request, Key: f.asking, Limits: limits, Retry: f.tryOnceAhead(p.Retry), Priority: f.program.Priority(), Task: f.work.Lease.TaskID,
		Held: f.checkLease, Failed: f.noteTry, Measured: f.measureAttempt, Spending: f.allowed.asSpending(), Choice: &f.choice,
		Weigh: func(response *exchange.Response, weighed *fault.Error) *fault.Error {
			return explainRefusal(request, response, weighed)
		},
	}
	response, err := f.executor.chain.Do(ctx, call)
	f.countCall(call)
	if err != nil {
		return err
	}
	if f.sumBeside, err = f.owed.FindSum(string(response.Body)); err != nil {
		return fault.New(fault.BadBody, err)
	}
	return nil
}
