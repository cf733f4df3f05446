package registry

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/core/outline"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// outlineAge is how long an outline of another program is kept: a program that was replaced
// leaves one for each source.
const outlineAge = 30 * 24 * time.Hour

// KeepOutlines stores outlines of sources. Those of other versions of the same sources go, and
// those that programs made which were replaced long ago.
func (s *Registry) KeepOutlines(ctx context.Context, all []outline.Kept) error {
	return s.step(ctx, "keep outlines", kernel.Bulk, func(t *tx) error {
		if _, err := t.Exec("DELETE FROM reg_outline WHERE created_at < ?", kernel.Micros(t.Now.Add(-outlineAge))); err != nil {
			return err
		}
		for _, k := range all {
			if _, err := t.Exec("DELETE FROM reg_outline WHERE provenance_code = ? AND (program_hash = ? OR source_version <> ?)", k.Code, k.Program, k.Stamp.Version); err != nil {
				return err
			}
			if _, err := t.Exec("INSERT INTO reg_outline (provenance_code, program_hash, source_version, until_at, outline_json, seal_hash, created_at) VALUES (?,?,?,?,?,?,?)",
				k.Code, k.Program, k.Stamp.Version, kernel.Micros(k.Stamp.Until), string(k.Text), k.Seal, kernel.Micros(t.Now)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Outlines returns the outlines that a program made, by the code of their source. Whether one is
// to be believed, its reader decides.
func (s *Registry) Outlines(ctx context.Context, program string) (map[string]outline.Kept, error) {
	rows, err := s.db.Query(ctx, "SELECT provenance_code, source_version, until_at, outline_json, seal_hash FROM reg_outline WHERE program_hash = ?", program)
	if err != nil {
		return nil, kernel.Wrap("read outlines", s.db.Translate(err))
	}
	out := map[string]outline.Kept{}
	return out, kernel.Wrap("read outlines", kernel.Each(rows, func() error {
		k := outline.Kept{Program: program}
		var until sql.NullInt64
		err := rows.Scan(&k.Code, &k.Stamp.Version, &until, &k.Text, &k.Seal)
		k.Stamp.Until = kernel.Instant(until)
		out[k.Code] = k
		return err
	}))
}
