package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

const (
	// mostRunning bounds how many plans of a status are told.
	mostRunning = 50
	// paceRange is what "lately" means for how fast plans go.
	paceRange = time.Hour
)

// RunningPlans lists the plans that are not at their end, the newest first, with how far they
// are and when the rest is read at the pace of the last hour. Without a run that ended in it
// nobody knows, and nothing is guessed.
func (i *Inspector) RunningPlans(ctx context.Context) ([]view.RunningPlan, error) {
	now, err := i.from.Clock.Now(ctx)
	if err != nil {
		return nil, err
	}
	var rows []view.PlanRow
	for _, status := range []ingest.PlanStatus{ingest.PlanReady, ingest.PlanSlicing, ingest.PlanDraft} {
		found, err := i.from.Work.PlanRows(ctx, view.PlanFilter{Filter: view.Filter{Status: string(status), Limit: mostRunning}})
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	loads, err := i.from.Work.Workload(ctx, "")
	if err != nil {
		return nil, err
	}
	sums, err := i.from.Sums.WorkSums(ctx, view.SumQuery{From: now.Add(-paceRange), To: now})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b view.PlanRow) int { return int(b.ID - a.ID) })
	return outlooks(rows, loads, sums), nil
}

// outlooks puts the pace of partitions beside their plans. Plans of one partition share its
// workers, and the older one is read first.
func outlooks(rows []view.PlanRow, loads []view.Workload, sums []view.WorkSum) []view.RunningPlan {
	of := func(source, endpoint, op string) ingest.Partition {
		return ingest.Partition{Dataset: ingest.Dataset{Source: source, Endpoint: endpoint}, Operation: ingest.Operation(op)}
	}
	load, pace := map[ingest.Partition]view.Workload{}, map[ingest.Partition]view.WorkSum{}
	for _, l := range loads {
		load[of(l.Source, l.Endpoint, l.Operation)] = l
	}
	for _, s := range sums {
		pace[of(s.Source, s.Endpoint, string(s.Operation))] = s
	}
	out, before := make([]view.RunningPlan, len(rows)), map[ingest.Partition]int{}
	for n := len(rows) - 1; n >= 0; n-- {
		at := of(rows[n].Source, rows[n].Endpoint, rows[n].Operation)
		p := newRunningPlan(rows[n])
		p.Running, p.Waiting, p.WaitsUntil = load[at].Running, load[at].Waiting, load[at].CoolingUntil
		before[at] += p.Total - p.Done
		if s := pace[at]; s.To.After(s.From) {
			hours := s.To.Sub(s.From).Hours()
			p.PerHour = float64(s.Runs.Total()-s.Runs.Cancelled) / hours
			p.ItemsPerSec = float64(s.Items.Seen) / hours / time.Hour.Seconds()
		}
		if p.PerHour > 0 && p.Total > 0 {
			p.ReadyIn = time.Duration(float64(before[at]) / p.PerHour * float64(time.Hour))
		}
		out[n] = p
	}
	return out
}

func newRunningPlan(row view.PlanRow) view.RunningPlan {
	p := view.RunningPlan{PlanRow: row, Failed: row.Slices[string(ingest.SliceFailed)]}
	for status, n := range row.Slices {
		p.Total += n
		if s := ingest.SliceStatus(status); s != ingest.SlicePending && s != ingest.SliceReady {
			p.Done += n
		}
	}
	return p
}
