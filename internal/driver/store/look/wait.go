package look

import (
	"context"
	"database/sql"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Partitions lists all partitions with what keeps dispatch from them. One whose
// rate key cools down is left alone whoever was told to wait (§4.10.6).
func (s *Look) Partitions(ctx context.Context) (all []ingest.Queue, err error) {
	rows, err := s.db.Query(ctx, `SELECT p.id, p.provenance_code, p.endpoint_name, p.operation_code, `+IsPaused+`, p.cooling_until, p.cooling_code,
  COALESCE(p.rate_key, p.provenance_code), k.until, p.max_concurrent,
  (SELECT COUNT(*) FROM ing_task r WHERE r.partition_id = p.id AND r.status_code IN ('DISPATCHED','EXECUTING'))
FROM ing_partition p LEFT JOIN ing_rate_pause k ON k.rate_key = COALESCE(p.rate_key, p.provenance_code) ORDER BY p.id`)
	if err != nil {
		return nil, s.db.Translate(err)
	}
	err = kernel.Each(rows, func() error {
		var q ingest.Queue
		var cooling, paused sql.NullInt64
		var operation string
		var code sql.NullString
		err := rows.Scan(&q.PartitionID, &q.Partition.Source, &q.Partition.Endpoint, &operation, &q.Paused, &cooling, &code, &q.RateKey, &paused, &q.MaxConcurrent, &q.Running)
		q.Partition.Operation = ingest.Operation(operation)
		if q.CoolingUntil, q.CoolingCode = kernel.Instant(cooling), gate.Reason(code.String); code.String == "" && cooling.Valid {
			q.CoolingCode = gate.Cooling
		}
		if until := kernel.Instant(paused); until.After(q.CoolingUntil) {
			q.CoolingUntil, q.CoolingCode = until, gate.Cooling
		}
		all = append(all, q)
		return err
	})
	if err != nil {
		return nil, s.db.Translate(err)
	}
	return all, s.judgeEndpoints(ctx, all)
}

// judgeEndpoints adds what is known of the endpoints, over all their operations.
func (s *Look) judgeEndpoints(ctx context.Context, all []ingest.Queue) error {
	breakers, err := s.Breakers(ctx)
	if err != nil || len(breakers) == 0 {
		return err
	}
	running := map[ingest.Dataset]int{}
	for _, q := range all {
		running[q.Partition.Dataset] += q.Running
	}
	for i, q := range all {
		all[i].Breaker, all[i].Endpoint = breakers[q.Partition.Dataset], running[q.Partition.Dataset]
	}
	return nil
}

// Breakers lists the endpoints whose upstream was in trouble at the last look.
func (s *Look) Breakers(ctx context.Context) (map[ingest.Dataset]fault.Breaker, error) {
	rows, err := s.db.Query(ctx, "SELECT provenance_code, endpoint_name, failures, opened, open_until FROM ing_breaker")
	if err != nil {
		return nil, kernel.Wrap("list breakers", s.db.Translate(err))
	}
	out := map[ingest.Dataset]fault.Breaker{}
	return out, kernel.Wrap("list breakers", s.db.Translate(kernel.Each(rows, func() error {
		var d ingest.Dataset
		var b fault.Breaker
		var until sql.NullInt64
		err := rows.Scan(&d.Source, &d.Endpoint, &b.Failures, &b.Opened, &until)
		b.OpenUntil = kernel.Instant(until)
		out[d] = b
		return err
	})))
}

// explainWaits adds to tasks without a lease why dispatch leaves them alone.
func (s *Look) explainWaits(ctx context.Context, tasks []view.Task) error {
	free := func(t view.Task) bool {
		return t.Status == string(ingest.TaskQueued) || t.Status == string(ingest.TaskScheduled)
	}
	if !slices.ContainsFunc(tasks, free) {
		return nil
	}
	all, err := s.Partitions(ctx)
	if err != nil {
		return kernel.Wrap("explain waits", err)
	}
	now, err := s.db.Now(ctx)
	if err != nil {
		return err
	}
	held, keys := map[ingest.Partition]ingest.Holdup{}, map[ingest.Partition]string{}
	for _, q := range all {
		keys[q.Partition] = q.RateKey
		if h, ok := q.Holdup(now); ok {
			held[q.Partition] = h
		}
	}
	waiting, err := s.heldByLimit(ctx)
	if err != nil {
		return err
	}
	for i, t := range tasks {
		if p := waiting[t.PlanID]; p != nil && free(t) { // nothing else that ends has it taken
			tasks[i].Waits = &view.Waiting{Reason: gate.Limit, Detail: p.Limit.SpentText(), Held: p}
			continue
		}
		of := ingest.Partition{Dataset: ingest.Dataset{Source: t.Source, Endpoint: t.Endpoint}, Operation: ingest.Operation(t.Operation)}
		if t.Waits != nil {
			t.Waits.RateKey = keys[of]
		}
		h, ok := held[of]
		if !ok || !free(t) || t.Status == string(ingest.TaskScheduled) && t.ScheduledAt.After(h.Until) {
			continue
		}
		tasks[i].Waits = &view.Waiting{Reason: h.Reason, Until: h.Until, Detail: h.Detail, RateKey: keys[of]}
	}
	return nil
}

// heldByLimit returns the plans whose requests are used up.
func (s *Look) heldByLimit(ctx context.Context) (map[int64]*view.HeldPlan, error) {
	all, err := s.HeldPlans(ctx, "")
	out := map[int64]*view.HeldPlan{}
	for _, p := range all {
		out[p.ID] = &p
	}
	return out, err
}

// OwnWaits returns the reasons that are of our making.
func OwnWaits() []any {
	return []any{string(gate.Quota), string(gate.ClosedHours), string(gate.OverDeadline)}
}

// IsPaused asks whether some pause fits the row called p, which has the columns
// of a partition. Pauses are few, and found by the key of their table; a flag at
// each partition would miss those that are made after the pause.
const IsPaused = `EXISTS (SELECT 1 FROM ing_source_state z WHERE z.provenance_code = p.provenance_code
  AND z.endpoint_name IN ('', p.endpoint_name) AND z.operation_code IN ('', p.operation_code) AND z.state_code = '` + string(ingest.SourcePaused) + `')`
