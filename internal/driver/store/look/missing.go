package look

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Missing counts the records that are missing, by endpoint; no source: of all. Each
// of them has an open signal, so no head is read.
func (s *Look) Missing(ctx context.Context, source string) (out []view.MissingRecords, err error) {
	w := &kernel.Where{}
	w.Add(true, "s.status_code = 'OPEN' AND s.kind_code = ?", string(refresh.Missing))
	w.Add(source != "", "d.provenance_code = ?", source)
	rows, err := s.db.Query(ctx, `SELECT d.provenance_code, d.endpoint_name, COUNT(*), MIN(s.created_at), MIN(s.not_before)
  FROM ing_dataset d JOIN ing_signal s ON s.dataset_id = d.id`+w.String()+" GROUP BY d.provenance_code, d.endpoint_name ORDER BY d.provenance_code, d.endpoint_name", w.Args...)
	if err != nil {
		return nil, kernel.Wrap("count missing records", s.db.Translate(err))
	}
	return out, kernel.Wrap("count missing records", kernel.Each(rows, func() error {
		var m view.MissingRecords
		var since, looks sql.NullInt64
		err := rows.Scan(&m.Source, &m.Endpoint, &m.Records, &since, &looks)
		m.Since, m.LooksAt = kernel.Instant(since), kernel.Instant(looks)
		if looks.Int64 == 0 { // somebody named one anew
			m.LooksAt = record.LooksAgainAt(m.Since)
		}
		out = append(out, m)
		return err
	}))
}
