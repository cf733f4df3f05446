package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Sums reads what runs did and met, added up when they ended.
type Sums interface {
	WorkSums(ctx context.Context, q view.SumQuery) ([]view.WorkSum, error)
	ErrorSums(ctx context.Context, q view.ErrorQuery) ([]view.ErrorSum, error)
}

// SumsRange is how far back sums are asked for unless somebody says otherwise.
const SumsRange = 24 * time.Hour

// fillRange gives a range its default ends.
func (i *Inspector) fillRange(ctx context.Context, from, to *time.Time) error {
	if to.IsZero() {
		now, err := i.from.Clock.Now(ctx)
		if err != nil {
			return err
		}
		*to = now
	}
	if from.IsZero() {
		*from = to.Add(-SumsRange)
	}
	return nil
}

// Queue tells how the work of each partition stands, and how it went in a range of time:
// tasks that wait and run, how fast they were taken, how runs ended, how long the
// upstream took, how often it asked to slow down (§14.7).
func (i *Inspector) Queue(ctx context.Context, q view.SumQuery) ([]view.QueueState, error) {
	q.Step = 0
	if err := i.fillRange(ctx, &q.From, &q.To); err != nil {
		return nil, err
	}
	sums, err := i.from.Sums.WorkSums(ctx, q)
	if err != nil {
		return nil, err
	}
	loads, err := i.from.Work.Workload(ctx, q.Source)
	if err != nil {
		return nil, err
	}
	return joinQueue(q.Operation, loads, sums), nil
}

// joinQueue puts what is now beside what was, by partition.
func joinQueue(only ingest.Operation, loads []view.Workload, sums []view.WorkSum) (out []view.QueueState) {
	place := map[ingest.Partition]int{}
	at := func(p ingest.Partition) *view.QueueState {
		n, known := place[p]
		if !known {
			n, place[p] = len(out), len(out)
			out = append(out, view.QueueState{Source: p.Source, Endpoint: p.Endpoint, Operation: p.Operation})
		}
		return &out[n]
	}
	for _, l := range loads {
		if op := ingest.Operation(l.Operation); only == "" || op == only {
			s := at(ingest.Partition{Dataset: ingest.Dataset{Source: l.Source, Endpoint: l.Endpoint}, Operation: op})
			s.Waiting, s.Running, s.CoolingUntil = l.Waiting, l.Running, l.CoolingUntil
		}
	}
	for _, w := range sums {
		s := at(ingest.Partition{Dataset: ingest.Dataset{Source: w.Source, Endpoint: w.Endpoint}, Operation: w.Operation})
		s.Recent = &w
		if hours := w.To.Sub(w.From).Hours(); hours > 0 {
			s.TakenPerHour = float64(w.Runs.Total()) / hours
		}
	}
	slices.SortFunc(out, func(a, b view.QueueState) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Operation, b.Operation))
	})
	return out
}

// Throughput tells what runs did, by step of time and partition, the oldest first.
func (i *Inspector) Throughput(ctx context.Context, q view.SumQuery) ([]view.WorkSum, error) {
	if err := i.fillRange(ctx, &q.From, &q.To); err != nil {
		return nil, err
	}
	if now, err := i.from.Clock.Now(ctx); err != nil {
		return nil, err
	} else if q.Step > 0 && q.Step < time.Duration(q.Slot(now)) {
		return nil, fmt.Errorf("%w: steps under an hour are known for the last two days, and for at most six hours at once: name a shorter range, or a step of an hour", fault.ErrInvalid)
	}
	return i.from.Sums.WorkSums(ctx, q)
}

// TopErrors tells which errors runs met most often, with a run and a batch that met each
// last.
func (i *Inspector) TopErrors(ctx context.Context, q view.ErrorQuery) ([]view.ErrorSum, error) {
	if err := i.fillRange(ctx, &q.From, &q.To); err != nil {
		return nil, err
	}
	return i.from.Sums.ErrorSums(ctx, q)
}
