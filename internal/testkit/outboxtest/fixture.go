package outboxtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// Fixture writes events the way a harvest does: by committing batches.
type Fixture struct {
	t       testing.TB
	store   *store.Store
	work    ingest.Work
	no      int
	version map[string]int
	events  []string
}

var begin = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)

// NewFixture begins a run of a source.
func NewFixture(t testing.TB, s *store.Store, source string) *Fixture {
	t.Helper()
	f := &Fixture{t: t, store: s, version: map[string]int{}}
	ctx := t.Context()
	id, err := s.RecordTrigger(ctx, ingest.Trigger{Key: fingerprint.Key(source), Scheduler: "test", Type: ingest.TriggerManual, At: begin, Source: source})
	f.mustNil(err)
	partition := ingest.Partition{Dataset: ingest.Dataset{Source: source, Endpoint: "works"}, Operation: ingest.Harvest}
	w := window.Window{From: begin, To: begin.AddDate(0, 0, 1)}
	plan, _, err := s.OpenPlan(ctx, ingest.NewPlan{
		Key: fingerprint.Key(source, "plan"), ScheduleID: id, Partition: partition, Window: w, AsOf: w.To, Owed: []window.Window{w},
		Namespace:     ingest.HarvestNamespace(partition.Dataset, "indexed", fingerprint.Key("all")),
		ExprProtoHash: fingerprint.Key("all"), ExprProto: []byte("{}"), MappingHash: fingerprint.Key("mapping"),
		SpecFingerprint: fingerprint.Key("spec", source), Spec: []byte("{}"), ConfigHash: fingerprint.Key("config"), Strategy: "TIME",
	})
	f.mustNil(err)
	f.mustNil(s.AddSlices(ctx, plan.ID, []ingest.NewSlice{{
		No: 1, Signature: fingerprint.Key(source, "slice"), Window: w, Spec: []byte("{}"), ExprHash: fingerprint.Key("all"), Expr: []byte("{}"),
		TaskKey: fingerprint.Key(source, "task"), TaskParams: []byte("{}"), Priority: 50,
	}}, true))
	queues, err := s.Queues(ctx)
	f.mustNil(err)
	for _, q := range queues {
		work, err := s.Claim(ctx, ingest.ClaimRequest{PartitionID: q.PartitionID, Owner: "test", Token: "token-" + source, Lease: time.Hour, Max: 1})
		f.mustNil(err)
		for _, f.work = range work {
			run, err := s.StartRun(ctx, f.work, time.Hour)
			f.mustNil(err)
			f.work.Lineage.RunID = run.ID
		}
	}
	return f
}

func (f *Fixture) mustNil(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// Commit writes one more version of the first n records, and of some of them that
// they are gone.
func (f *Fixture) Commit(n int) {
	f.t.Helper()
	f.no++
	at := begin.Add(time.Duration(f.no) * time.Minute)
	var records []record.Incoming
	for i := range n {
		id := fmt.Sprintf("10.1000/%d", i)
		f.version[id]++
		r := record.Incoming{ProviderID: id, UpdatedAt: at, FetchAt: at, MappingID: 1}
		if f.version[id]%3 == 0 && i%2 == 0 {
			r.Gone = true
		} else {
			r.Fields = fmt.Appendf(nil, `{"title":"%s in version %d"}`, id, f.version[id])
			r.Payload = fmt.Appendf(nil, "{\n \"DOI\": %q, \"no\": %d, \"text\": \"%0300d\"}", id, f.no, f.no)
			r.ContentHash = record.DigestOf(r.Payload)
		}
		records = append(records, r)
		f.events = append(f.events, fmt.Sprintf("%x", record.EventKey(f.work.Partition.Source, f.work.Partition.Endpoint, id, f.version[id])))
	}
	_, err := f.store.CommitBatch(f.t.Context(), ingest.BatchCommit{
		Lease: f.work.Lease, Extend: time.Hour, Lineage: f.work.Lineage, Partition: f.work.Partition, DatasetID: f.work.DatasetID, ExprID: f.work.ExprID,
		No: f.no, Pass: 1, PageNo: f.no, PageSize: 100, BeforeToken: fmt.Sprint("token-", f.no), AfterToken: fmt.Sprint("token-", f.no+1),
		Records: records, Seen: len(records), Request: []byte("{}"), Response: []byte("{}"),
		Checkpoint: ingest.Checkpoint{Pass: 1, Paging: paging.State{Pages: f.no}},
	})
	f.mustNil(err)
}

// Events are the ids of all events that were written.
func (f *Fixture) Events() []string { return f.events }
