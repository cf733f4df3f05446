package mysql

import (
	"context"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// measure asks the catalogue, which counts pages of tables now and then.
func measure(ctx context.Context, q kernel.Querier, _ bool) (s kernel.Sizes, err error) {
	rows, err := q.QueryContext(ctx, `SELECT table_name, COALESCE(data_length, 0) + COALESCE(index_length, 0), COALESCE(data_free, 0)
  FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'`)
	if err != nil {
		return s, err
	}
	s.Estimated, s.Tables = true, map[string]int64{}
	return s, kernel.Each(rows, func() error {
		var name string
		var bytes, free int64
		err := rows.Scan(&name, &bytes, &free)
		s.Tables[name] = bytes
		s.Bytes, s.Free = s.Bytes+bytes+free, s.Free+free
		return err
	})
}
