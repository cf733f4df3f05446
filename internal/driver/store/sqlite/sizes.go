package sqlite

import (
	"context"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// readWhole is up to which size a file is read through to tell its tables apart without
// being told to: about a second.
const readWhole = 1 << 30

// measure asks for pages. Only a walk through all of them tells which table has how many,
// and it holds a read snapshot.
func measure(ctx context.Context, q kernel.Querier, whole bool) (s kernel.Sizes, err error) {
	var page, pages, free int64
	for query, into := range map[string]*int64{"PRAGMA page_size": &page, "PRAGMA page_count": &pages, "PRAGMA freelist_count": &free} {
		if err := q.QueryRowContext(ctx, query).Scan(into); err != nil {
			return s, err
		}
	}
	s.Bytes, s.Free = page*pages, page*free
	if !whole && s.Bytes > readWhole {
		return s, nil
	}
	rows, err := q.QueryContext(ctx, "SELECT COALESCE(m.tbl_name, d.name), SUM(d.pgsize) FROM dbstat('main', 1) d LEFT JOIN sqlite_schema m ON m.name = d.name GROUP BY 1")
	if err != nil {
		return s, err
	}
	s.Tables = map[string]int64{}
	return s, kernel.Each(rows, func() error {
		var name string
		var bytes int64
		err := rows.Scan(&name, &bytes)
		s.Tables[name] = bytes
		return err
	})
}
