package look

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Files lists files of a set, the owed ones first, then the newest; at most limit.
func (s *Look) Files(ctx context.Context, cursorID int64, limit int) (out []view.RecordFile, err error) {
	rows, err := s.db.Query(ctx, `SELECT id, name, stamp, byte_count, line_count, version, read_version, first_listed, last_listed, read_as_of, read_items, read_bytes FROM ing_file
  WHERE cursor_id = ? ORDER BY CASE WHEN read_version IS NULL OR read_version <> version THEN 0 ELSE 1 END, stamp DESC, name DESC LIMIT ?`, cursorID, limit)
	if err == nil {
		err = kernel.Each(rows, func() error {
			var f view.RecordFile
			var version string
			var read sql.NullString
			var stamp, first, last, asOf sql.NullInt64
			err := rows.Scan(&f.ID, &f.Name, &stamp, &f.Size, &f.Lines, &version, &read, &first, &last, &asOf, &f.Items, &f.Bytes)
			f.Stamp, f.ListedAt, f.LastSeen, f.ReadAsOf = kernel.Instant(stamp), kernel.Instant(first), kernel.Instant(last), kernel.Instant(asOf)
			switch {
			case !read.Valid:
				f.State = view.FileOwed
			case read.String != version:
				f.State = view.FileChanged
			default:
				f.State = view.FileRead
			}
			out = append(out, f)
			return err
		})
	}
	return out, kernel.Wrap("list files", s.db.Translate(err))
}

// FileSet tells what is known of the files of a namespace that were wholly read.
func (s *Look) FileSet(ctx context.Context, n ingest.Namespace) (out files.Set, err error) {
	var oldest, newest sql.NullInt64
	err = s.db.QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN f.stamp IS NULL THEN 1 ELSE 0 END), 0), MIN(f.stamp), MAX(f.stamp)
  FROM ing_file f JOIN ing_cursor c ON c.id = f.cursor_id
  WHERE c.provenance_code = ? AND c.operation_code = ? AND c.cursor_key = ? AND c.namespace_scope_code = ? AND c.namespace_key = ? AND f.read_version IS NOT NULL`,
		n.Source, string(n.Operation), n.CursorKey, string(n.Scope), n.Key).Scan(&out.Read, &out.Undated, &oldest, &newest)
	out.Oldest, out.Newest = kernel.Instant(oldest), kernel.Instant(newest)
	return out, kernel.Wrap("read a set of files", s.db.Translate(err))
}
