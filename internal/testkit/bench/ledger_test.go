package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// lease is longer than any benchmark runs.
const lease = 24 * time.Hour

// openPlan stores a plan with one slice and one queued task.
func openPlan(tb testing.TB, s *store.Store, source string) ingest.Plan {
	tb.Helper()
	ctx := tb.Context()
	compiled := compile(tb)
	id, err := s.RecordTrigger(ctx, ingest.Trigger{Key: fingerprint.Key(source), Scheduler: "bench", Type: ingest.TriggerManual, At: firstDay, Source: source})
	if err != nil {
		tb.Fatal(err)
	}
	partition := ingest.Partition{Dataset: ingest.Dataset{Source: source, Endpoint: "works"}, Operation: ingest.Harvest}
	w := window.Window{From: firstDay, To: firstDay.AddDate(0, 0, 1)}
	plan, _, err := s.OpenPlan(ctx, ingest.NewPlan{
		Key: fingerprint.Key(source, "plan"), ScheduleID: id, Partition: partition, Window: w, AsOf: w.To, Owed: []window.Window{w},
		Namespace:     ingest.HarvestNamespace(partition.Dataset, "indexed", fingerprint.Key("all")),
		ExprProtoHash: fingerprint.Key("all"), ExprProto: []byte("{}"), MappingHash: compiled.MappingHash,
		SpecFingerprint: compiled.Fingerprint, Spec: compiled.Canonical, ConfigHash: compiled.Fingerprint, Strategy: "TIME",
	})
	if err != nil {
		tb.Fatal(err)
	}
	slice := ingest.NewSlice{
		No: 1, Signature: fingerprint.Key(source, "slice"), Window: w, Spec: []byte(`{"budget":{}}`), ExprHash: fingerprint.Key("all"), Expr: []byte("{}"),
		TaskKey: fingerprint.Key(source, "task"), TaskParams: []byte("{}"), Priority: 50,
	}
	if err := s.AddSlices(ctx, plan.ID, []ingest.NewSlice{slice}, true); err != nil {
		tb.Fatal(err)
	}
	return plan
}

func claim(ctx context.Context, s *store.Store, partition int64, no int) (ingest.Work, error) {
	work, err := s.Claim(ctx, ingest.ClaimRequest{PartitionID: partition, Owner: "bench", Token: fmt.Sprintf("token-%d", no), Lease: lease, Max: 1})
	if err == nil && len(work) != 1 {
		err = fmt.Errorf("claimed %d tasks, want 1", len(work))
	}
	if err != nil {
		return ingest.Work{}, err
	}
	return work[0], nil
}

// startRun claims the task of a plan and begins a run.
func startRun(tb testing.TB, s *store.Store) ingest.Work {
	tb.Helper()
	queues, err := s.Queues(tb.Context())
	if err != nil || len(queues) != 1 {
		tb.Fatalf("queues %v, %v", queues, err)
	}
	work, err := claim(tb.Context(), s, queues[0].PartitionID, 0)
	if err != nil {
		tb.Fatal(err)
	}
	run, err := s.StartRun(tb.Context(), work, lease)
	if err != nil {
		tb.Fatal(err)
	}
	work.Lineage.RunID = run.ID
	return work
}
