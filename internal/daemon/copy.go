package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// CopiedTable is a table of a copy.
type CopiedTable struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// CopyDatabase fills an empty database with all that another one holds at one instant,
// whatever kind both are. Programs refuse the copy until it was compared whole.
func CopyDatabase(ctx context.Context, c Config, from, to string, tell func(CopiedTable)) (done []CopiedTable, err error) {
	if from == to {
		return nil, fmt.Errorf("%w: --from and --to name the same database", fault.ErrInvalid)
	}
	c.Database, c.MustExist = from, true
	source, err := openStore(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	c.Database, c.MustExist, c.SkipSchema = to, false, true
	target, err := openStore(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	copied, err := source.CopyTo(ctx, target, func(t store.Copied) { tell(CopiedTable(t)) })
	for _, t := range copied {
		done = append(done, CopiedTable(t))
	}
	return done, err
}
