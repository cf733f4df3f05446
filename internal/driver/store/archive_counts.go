package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// archivedCount is what is kept of a plan that goes into a file: whose it was, and
// what its runs had counted at a version of it.
type archivedCount struct {
	cursor, version int64
	stats           ingest.RunStats
}

// errWentOn: a plan changed while its runs were added up.
var errWentOn = errors.New("the plan went on meanwhile")

// countPlans adds up the runs of plans before the transaction that notes them: a
// plan may have thousands.
func (s *Store) countPlans(ctx context.Context, plans []int64) (map[int64]archivedCount, error) {
	out := map[int64]archivedCount{}
	for _, id := range plans {
		var c archivedCount
		known, err := found(s.read.QueryRowContext(ctx, "SELECT cursor_id, version FROM ing_plan WHERE id = ?", id).Scan(&c.cursor, &c.version))
		if err != nil {
			return nil, s.dialect.Translate(err)
		}
		if !known {
			continue // the step refuses it
		}
		if c.stats, err = s.planStats(ctx, id); err != nil {
			return nil, err
		}
		out[id] = c
	}
	return out, nil
}

// archivedOf is how many plans of a cursor are in files and left the database, and
// what they had counted.
func (s *Store) archivedOf(ctx context.Context, cursorID int64) (plans int, sum ingest.RunStats, err error) {
	rows, err := s.read.QueryContext(ctx, `SELECT a.stats FROM ing_archived_plan a WHERE a.cursor_id = ?
  AND NOT EXISTS (SELECT 1 FROM ing_plan p WHERE p.id = a.plan_id)`, cursorID)
	if err != nil {
		return 0, sum, s.dialect.Translate(err)
	}
	err = each(rows, func() error {
		var text sql.NullString
		var one ingest.RunStats
		if err := rows.Scan(&text); err != nil {
			return err
		}
		plans++
		err := decode(text, &one)
		sum = sum.Add(one)
		return err
	})
	return plans, sum, err
}

// addArchived counts what a campaign had before its plans left for files.
func (s *Store) addArchived(ctx context.Context, v *view.Campaign) error {
	plans, sum, err := s.archivedOf(ctx, v.CursorID)
	v.Archived, v.Plans, v.Stats = plans, v.Plans+plans, v.Stats.Add(sum)
	return err
}

func (c archivedCount) text() (string, error) {
	out, err := json.Marshal(c.stats)
	return string(out), err
}
