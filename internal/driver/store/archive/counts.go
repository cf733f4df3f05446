package archive

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
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
func (s *Archive) countPlans(ctx context.Context, plans []int64) (map[int64]archivedCount, error) {
	out := map[int64]archivedCount{}
	for _, id := range plans {
		var c archivedCount
		known, err := kernel.Found(s.db.QueryRow(ctx, "SELECT cursor_id, version FROM ing_plan WHERE id = ?", id).Scan(&c.cursor, &c.version))
		if err != nil {
			return nil, s.db.Translate(err)
		}
		if !known {
			continue // the step refuses it
		}
		if c.stats, err = s.look.PlanStats(ctx, id); err != nil {
			return nil, err
		}
		out[id] = c
	}
	return out, nil
}

func (c archivedCount) countText() (string, error) {
	out, err := json.Marshal(c.stats)
	return string(out), err
}
