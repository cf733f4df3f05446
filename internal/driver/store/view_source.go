package store

import "context"

// HarvestedSources lists the sources that were ever planned, whether the registry
// still has them or not.
func (s *Store) HarvestedSources(ctx context.Context) (codes []string, err error) {
	rows, err := s.query(ctx, "SELECT DISTINCT provenance_code FROM ing_dataset ORDER BY provenance_code")
	if err != nil {
		return nil, wrap("list harvested sources", s.translate(err))
	}
	return codes, wrap("list harvested sources", each(rows, func() error {
		var code string
		err := rows.Scan(&code)
		codes = append(codes, code)
		return err
	}))
}
