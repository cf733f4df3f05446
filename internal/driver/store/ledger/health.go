package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

const ofPartition = "provenance_code = ? AND endpoint_name = ? AND operation_code = ?"

func keyOf(p ingest.Partition) []any { return []any{p.Source, p.Endpoint, string(p.Operation)} }

// NoteHealth keeps what a process finds in force at a partition, in place of what
// it found before.
func (s *Ledger) NoteHealth(ctx context.Context, in ingest.HealthNote) error {
	return s.step(ctx, "note health", kernel.Bulk, func(t *tx) error {
		key := keyOf(in.Partition)
		if _, err := t.Exec("DELETE FROM ing_health WHERE "+ofPartition+" AND owner <> ? AND valid_until < ?",
			append(slices.Clone(key), in.Owner, kernel.Micros(t.Now))...); err != nil {
			return err
		}
		known, err := t.ownConditions(in)
		if err != nil {
			return err
		}
		for _, c := range in.InForce {
			if err := t.saveCondition(in, c, slices.Contains(known, c.Condition)); err != nil {
				return err
			}
		}
		for _, was := range known {
			if slices.ContainsFunc(in.InForce, func(c ingest.ConditionNote) bool { return c.Condition == was }) {
				continue
			}
			if _, err := t.Exec("DELETE FROM ing_health WHERE "+ofPartition+" AND condition_code = ? AND owner = ?",
				append(slices.Clone(key), string(was), in.Owner)...); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tx) ownConditions(in ingest.HealthNote) (out []health.Condition, err error) {
	rows, err := t.Query("SELECT condition_code FROM ing_health WHERE "+ofPartition+" AND owner = ?", append(keyOf(in.Partition), in.Owner)...)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		var c health.Condition
		err := rows.Scan(&c)
		out = append(out, c)
		return err
	})
}

func (t *tx) saveCondition(in ingest.HealthNote, c ingest.ConditionNote, known bool) error {
	key := append(keyOf(in.Partition), string(c.Condition), in.Owner)
	until := kernel.Micros(t.Now.Add(in.For))
	if known {
		return t.ExecOne("UPDATE ing_health SET level_no = ?, detail = ?, valid_until = ? WHERE "+ofPartition+" AND condition_code = ? AND owner = ?",
			append([]any{c.Level, kernel.OrNull(kernel.Cut(c.Detail, 512)), until}, key...)...)
	}
	_, err := t.Exec(`INSERT INTO ing_health (level_no, detail, valid_until, since, provenance_code, endpoint_name, operation_code, condition_code, owner)
  VALUES (?,?,?,?,?,?,?,?,?)`, append([]any{c.Level, kernel.OrNull(kernel.Cut(c.Detail, 512)), until, kernel.Micros(t.Now)}, key...)...)
	return err
}

// HealthOf returns what is in force at a partition, by whichever process found
// it.
func (s *Ledger) HealthOf(ctx context.Context, p ingest.Partition) (out []ingest.ConditionNote, err error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, "SELECT condition_code, level_no, since, detail FROM ing_health WHERE "+ofPartition+
		" AND valid_until >= ? ORDER BY condition_code, level_no DESC", append(keyOf(p), kernel.Micros(now))...)
	if err != nil {
		return nil, kernel.Wrap("read health", s.db.Translate(err))
	}
	return out, kernel.Wrap("read health", kernel.Each(rows, func() error {
		var c ingest.ConditionNote
		var since sql.NullInt64
		var detail sql.NullString
		err := rows.Scan(&c.Condition, &c.Level, &since, &detail)
		c.Since, c.Detail = kernel.Instant(since), detail.String
		if n := len(out); n == 0 || out[n-1].Condition != c.Condition {
			out = append(out, c) // of several processes the one that finds it worst
		}
		return err
	}))
}

// countAction adds to the number of times an action was taken. It is part of a
// step that is done once, so it counts once.
func (t *tx) countAction(p ingest.Partition, a health.Action, times int) error {
	if times == 0 {
		return nil
	}
	key := append(keyOf(p), string(a))
	n, err := t.Affected("UPDATE ing_health_count SET times = times + ?, last_at = ? WHERE "+ofPartition+" AND action_code = ?",
		append([]any{times, kernel.Micros(t.Now)}, key...)...)
	if err != nil || n > 0 {
		return err
	}
	_, err = t.Exec("INSERT INTO ing_health_count (times, last_at, provenance_code, endpoint_name, operation_code, action_code) VALUES (?,?,?,?,?,?)",
		append([]any{times, kernel.Micros(t.Now)}, key...)...)
	return err
}

// countRun counts what a run did about conditions.
func (t *tx) countRun(task int64, stats ingest.RunStats) error {
	if stats.Actions == (health.Tally{}) && stats.CircuitOpen == 0 {
		return nil
	}
	p, err := t.partitionOf("ing_task", task)
	if err != nil {
		return err
	}
	for _, a := range health.Actions() {
		if err := t.countAction(p, a, stats.Actions.Times(a)); err != nil {
			return err
		}
	}
	return t.countAction(p, health.OpenCircuit, stats.CircuitOpen)
}

// countPlan counts what a planner did about a condition.
func (t *tx) countPlan(planID int64, a health.Action) error {
	p, err := t.partitionOf("ing_plan", planID)
	if err != nil {
		return err
	}
	return t.countAction(p, a, 1)
}

// partitionOf returns the partition of a task or a plan.
func (t *tx) partitionOf(table string, id int64) (p ingest.Partition, err error) {
	err = t.Row("SELECT provenance_code, endpoint_name, operation_code FROM "+table+" WHERE id = ?", id).Scan(&p.Source, &p.Endpoint, &p.Operation)
	return p, kernel.OrNotFound(err)
}

// noteRemarks keeps what a run did about conditions, in words.
func (t *tx) noteRemarks(in ingest.Finish) error {
	if len(in.Remarks) == 0 {
		return nil
	}
	text, err := json.Marshal(in.Remarks)
	if err != nil {
		return err
	}
	return t.ExecOne("UPDATE ing_task_run SET record_remarks = ? WHERE id = ?", string(text), in.Lineage.RunID)
}
