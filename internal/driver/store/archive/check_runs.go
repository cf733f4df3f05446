package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// CheckRuns holds the totals of some runs behind one against the sums of their batches:
// both are written in the same transactions (I4). Runs of plans that are in an archive
// are left out, their batches go first. One statement reads both, so that a batch that
// is committed meanwhile is in both or in none.
func (s *Archive) CheckRuns(ctx context.Context, after int64) (part integrity.Part, next int64, err error) {
	next = after
	var upto sql.NullInt64
	err = s.db.QueryRow(ctx, "SELECT COUNT(*), MAX(id) FROM (SELECT id FROM ing_task_run WHERE id > ? ORDER BY id LIMIT ?) some", after, checkRows).Scan(&part.Looked, &upto)
	if err != nil || part.Looked == 0 {
		part.End = err == nil
		return part, next, kernel.Wrap("check runs", s.db.Translate(err))
	}
	if upto.Int64 <= after {
		part.Found, part.End = append(part.Found, runDamage(upto.Int64, "it is not in its place; what follows was not looked at")), true
		return part, next, nil
	}
	next, part.End = upto.Int64, part.Looked < checkRows
	sums, err := s.sumRuns(ctx, after, next)
	for _, sum := range sums {
		if text := sum.describeProblem(); text != "" {
			part.Found = append(part.Found, runDamage(sum.run, text))
		}
	}
	return part, next, kernel.Wrap("check runs", s.db.Translate(err))
}

// runSum is a run, what it says of itself, and what its batches say.
type runSum struct {
	run        int64
	says, sums ingest.BatchStats
	unreadable bool
}

func (r *runSum) describeProblem() string {
	switch {
	case r.unreadable:
		return "its totals, or those of one of its batches, cannot be read"
	case r.says != r.sums:
		return fmt.Sprintf("its total is %d items seen, %d stored; its batches saw %d and stored %d", r.says.Seen, r.says.Stored(), r.sums.Seen, r.sums.Stored())
	}
	return ""
}

// sumRuns adds up the batches of the runs in (after, upto].
func (s *Archive) sumRuns(ctx context.Context, after, upto int64) (out []*runSum, err error) {
	rows, err := s.db.Query(ctx, `SELECT r.id, r.stats, b.stats FROM ing_task_run r
  LEFT JOIN ing_task_run_batch b ON b.run_id = r.id AND b.status_code = 'SUCCEEDED'
  WHERE r.id > ? AND r.id <= ? AND NOT EXISTS (SELECT 1 FROM ing_archived_plan a WHERE a.plan_id = r.plan_id) ORDER BY r.id`, after, upto)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		var run int64
		var says, batch sql.NullString
		if err := rows.Scan(&run, &says, &batch); err != nil {
			return err
		}
		if len(out) == 0 || out[len(out)-1].run != run {
			out = append(out, &runSum{run: run})
		}
		sum := out[len(out)-1]
		var total ingest.RunStats
		var one ingest.BatchStats
		if err := errors.Join(orEmpty(says, &total), orEmpty(batch, &one)); err != nil {
			sum.unreadable = true
		}
		sum.says, sum.sums = total.BatchStats, sum.sums.Add(one)
		return nil
	})
}

// orEmpty reads a document, if there is one.
func orEmpty(text sql.NullString, into any) error {
	if !text.Valid {
		return nil
	}
	return json.Unmarshal([]byte(text.String), into)
}

func runDamage(run int64, text string) integrity.Damage {
	return integrity.Damage{Kind: integrity.Count, Where: fmt.Sprintf("run %d", run), Text: text}
}
