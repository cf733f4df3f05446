package storetest

import (
	"crypto/sha256"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
)

// lease is how long every claim of the tests lasts.
const lease = time.Minute

func (w *world) request(h harvest, n int) ingest.ClaimRequest {
	w.Helper()
	return ingest.ClaimRequest{PartitionID: w.partitionID(h), Owner: "worker", Token: w.unique("token"), Lease: lease, Max: n}
}

// claim leases exactly n tasks of a harvest.
func (w *world) claim(h harvest, n int) []ingest.Work {
	w.Helper()
	work, err := w.store.Claim(w.ctx, w.request(h, n))
	w.must(err)
	if len(work) != n {
		w.Fatalf("claimed %d tasks, want %d", len(work), n)
	}
	return work
}

// attempt is a started run.
type attempt struct {
	w     *world
	work  ingest.Work
	run   ingest.Run
	pages int
}

func (w *world) start(work ingest.Work) *attempt {
	w.Helper()
	run, err := w.store.StartRun(w.ctx, work, lease)
	w.must(err)
	work.Lineage.RunID = run.ID
	return &attempt{w: w, work: work, run: run}
}

// begin claims and starts the first task of a harvest.
func (w *world) begin(h harvest) *attempt {
	w.Helper()
	return w.start(w.claim(h, 1)[0])
}

// item is a record whose content, stamp and reading are all told apart.
func item(id, content string, stamp time.Time) record.Incoming {
	return record.Incoming{
		ProviderID: id, UpdatedAt: stamp, ContentHash: sha256.Sum256([]byte(content)), FetchAt: stamp.Add(time.Hour), MappingID: 1,
		Fields: []byte(`{"title":"` + content + `"}`), Payload: []byte(content),
	}
}

// gone announces that a record was deleted upstream.
func gone(id string, stamp time.Time) record.Incoming {
	in := item(id, "", stamp)
	in.Gone, in.Fields, in.Payload = true, nil, nil
	return in
}

// page is the next page of the run, not stored yet.
func (a *attempt) page(records ...record.Incoming) ingest.BatchCommit {
	no := a.pages + 1
	return ingest.BatchCommit{
		Lease: a.work.Lease, Extend: lease, Lineage: a.work.Lineage, Partition: a.work.Partition, DatasetID: a.work.DatasetID, ExprID: a.work.ExprID,
		No: no, Pass: 1, PageNo: no, PageSize: 100, BeforeToken: "before", AfterToken: "after",
		Records: records, Seen: len(records), Passed: a.work.Passed, Request: []byte(`{"url":"x"}`), Response: []byte(`{"status":200}`),
		Checkpoint: ingest.Checkpoint{Pass: 1, Paging: paging.State{}},
	}
}

// commit stores the next page.
func (a *attempt) commit(records ...record.Incoming) ingest.BatchResult {
	a.w.Helper()
	return a.store(a.page(records...))
}

func (a *attempt) store(page ingest.BatchCommit) ingest.BatchResult {
	a.w.Helper()
	result, err := a.w.store.CommitBatch(a.w.ctx, page)
	a.w.must(err)
	a.pages++
	return result
}

// The ways a run may end.
var (
	succeeded = ingest.Outcome{Task: ingest.TaskSucceeded, Run: ingest.RunSucceeded}
	failed    = ingest.Outcome{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: "NETWORK", Error: "no answer"}
	partial   = ingest.Outcome{Task: ingest.TaskPartial, Run: ingest.RunPartial, Code: "BUDGET", Error: "enough"}
	cancelled = ingest.Outcome{Task: ingest.TaskCancelled, Run: ingest.RunCancelled, Code: "INTERRUPTED", Error: "stopped"}
	again     = ingest.Outcome{Task: ingest.TaskQueued, Run: ingest.RunFailed, Code: "NETWORK", Error: "no answer"}
	later     = ingest.Outcome{Task: ingest.TaskScheduled, Run: ingest.RunFailed, Code: "RATE_LIMITED", Error: "slow down", NotBefore: noon.Add(time.Hour)}
)

func (a *attempt) ending(o ingest.Outcome) ingest.Finish {
	return ingest.Finish{Lease: a.work.Lease, Lineage: a.work.Lineage, Outcome: o}
}

func (a *attempt) finish(o ingest.Outcome) {
	a.w.Helper()
	a.w.must(a.w.store.FinishRun(a.w.ctx, a.ending(o)))
}

// work does all of a harvest's next tasks, one outcome each.
func (w *world) work(h harvest, outcomes ...ingest.Outcome) {
	w.Helper()
	for _, o := range outcomes {
		w.begin(h).finish(o)
	}
}

// requeue tries a failed task again, as an operator does.
func (w *world) requeue(taskID int64) {
	w.Helper()
	_, _, err := w.store.RetryTasks(w.ctx, named(taskID), tester)
	w.must(err)
}
