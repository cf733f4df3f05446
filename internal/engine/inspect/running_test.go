package inspect

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// The rest of a plan is read after those that were planned before it, at the pace of the
// last hour; without a pace nobody knows.
func TestPlansTellWhenTheyAreReady(t *testing.T) {
	begin := time.Date(2026, 11, 15, 2, 0, 0, 0, time.UTC)
	row := func(id int64, source string, slices map[string]int) view.PlanRow {
		return view.PlanRow{Plan: view.Plan{ID: id, Source: source, Endpoint: "works", Operation: "HARVEST"}, Slices: slices}
	}
	sums := []view.WorkSum{{Source: "a", Endpoint: "works", Operation: ingest.Harvest, From: begin, To: begin.Add(time.Hour), Runs: view.RunSums{Succeeded: 9, Failed: 1, Cancelled: 5}, Items: view.ItemSums{Seen: 3600}}}
	got := outlooks([]view.PlanRow{
		row(3, "a", map[string]int{"READY": 10, "SUCCEEDED": 5, "FAILED": 1}),
		row(2, "b", map[string]int{"READY": 1}),
		row(1, "a", map[string]int{"READY": 5}),
	}, []view.Workload{{Source: "a", Endpoint: "works", Operation: "HARVEST", Running: 2, Waiting: 13}}, sums)
	if p := got[0]; p.ReadyIn != 90*time.Minute || p.Total != 16 || p.Done != 6 || p.Failed != 1 || p.Running != 2 || p.ItemsPerSec != 1 {
		t.Errorf("%+v", p)
	}
	if p := got[2]; p.ReadyIn != 30*time.Minute {
		t.Errorf("the older one: %v", p.ReadyIn)
	}
	if p := got[1]; p.ReadyIn != 0 || p.PerHour != 0 {
		t.Errorf("without a pace: %+v", p)
	}
}
