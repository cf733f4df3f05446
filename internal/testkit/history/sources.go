package history

import (
	"bytes"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

// addSources applies the sources and makes of each what all its rows are copied from: one
// plan with its slice, task and run, by the store itself. Their ids are the source's number.
func (f *filler) addSources() error {
	text, err := catalog.Read("crossref")
	if err != nil {
		return err
	}
	for n := 1; n <= f.h.Sources; n++ {
		code := SourceCode(n)
		own := bytes.Replace(text, []byte("\nsource: crossref\n"), []byte("\nsource: "+code+"\nschedule: {every: PT1H}\n"), 1)
		src, _, err := registry.Decode(code+".yaml", own)
		if err != nil {
			return err
		}
		if _, err := f.store.ApplySource(f.ctx, src, registry.ApplyOptions{Actor: "history", Reason: "history"}); err != nil {
			return err
		}
		compiled, err := daemon.Compile(src, "", ingest.Harvest, nil)
		if err != nil {
			return err
		}
		if err := f.addTemplate(compiled, int64(n)); err != nil {
			return err
		}
	}
	return nil
}

// addTemplate stores the one plan of a source that its other rows are copies of.
func (f *filler) addTemplate(c *spec.Compiled, n int64) error {
	source := c.Snapshot.Dataset().Source
	id, err := f.store.RecordTrigger(f.ctx, ingest.Trigger{Key: fingerprint.Key(source), Scheduler: "history", Type: ingest.TriggerManual, At: f.h.Begin, Source: source})
	if err != nil {
		return err
	}
	at, err := c.Namespace()
	if err != nil {
		return err
	}
	hash, err := c.Prototype.Hash()
	if err != nil {
		return err
	}
	w := window.Window{From: f.h.Begin, To: f.h.Begin.Add(time.Hour)}
	plan, _, err := f.store.OpenPlan(f.ctx, ingest.NewPlan{
		Key: fingerprint.Key(source, "plan"), ScheduleID: id, Partition: ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: ingest.Harvest}, Window: w, AsOf: w.To,
		Owed: []window.Window{w}, Namespace: at, ExprProtoHash: hash, ExprProto: []byte("{}"), MappingHash: c.MappingHash,
		SpecFingerprint: c.Fingerprint, Spec: c.Canonical, ConfigHash: c.Fingerprint, Strategy: "TIME",
	})
	if err != nil {
		return err
	}
	slice := ingest.NewSlice{
		No: 1, Signature: fingerprint.Key(source, "slice"), Window: w, Spec: []byte(`{"budget":{}}`), ExprHash: hash, Expr: []byte("{}"),
		TaskKey: fingerprint.Key(source, "task"), TaskParams: []byte("{}"), Priority: 50,
	}
	if err := f.store.AddSlices(f.ctx, plan.ID, []ingest.NewSlice{slice}, true); err != nil {
		return err
	}
	return f.startRun(plan.ID, n)
}

// startRun begins the run that the runs of a source are copies of.
func (f *filler) startRun(plan, n int64) error {
	queues, err := f.store.Queues(f.ctx)
	if err != nil {
		return err
	}
	for _, q := range queues {
		work, err := f.store.Claim(f.ctx, ingest.ClaimRequest{PartitionID: q.PartitionID, Owner: "history", Token: fmt.Sprintf("history-%d", n), Lease: time.Minute, Max: 1})
		if err != nil {
			return err
		}
		for _, w := range work {
			run, err := f.store.StartRun(f.ctx, w, time.Minute)
			if err != nil {
				return err
			}
			if plan != n || w.Lineage.SliceID != n || w.Lease.TaskID != n || run.ID != n {
				return fmt.Errorf("the plan of source %d has the ids %d, %d, %d and %d: the database was not empty", n, plan, w.Lineage.SliceID, w.Lease.TaskID, run.ID)
			}
			return nil
		}
	}
	return fmt.Errorf("the task of source %d is not in any queue", n)
}
