package look

import (
	"context"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// HarvestedSources lists the sources that were ever planned, whether the registry
// still has them or not.
func (s *Look) HarvestedSources(ctx context.Context) (codes []string, err error) {
	rows, err := s.db.Query(ctx, "SELECT DISTINCT provenance_code FROM ing_dataset ORDER BY provenance_code")
	if err != nil {
		return nil, kernel.Wrap("list harvested sources", s.db.Translate(err))
	}
	return codes, kernel.Wrap("list harvested sources", kernel.Each(rows, func() error {
		var code string
		err := rows.Scan(&code)
		codes = append(codes, code)
		return err
	}))
}
