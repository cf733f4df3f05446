package look

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// LagColumns are what ScanLag reads.
const LagColumns = "sector_name, window_from, window_to, as_of, waived, ready, looked_at"

// ScanLag reads one row of those columns.
func ScanLag(scan func(...any) error) (l sector.Lag, err error) {
	var from, to, asOf, looked sql.NullInt64
	err = scan(&l.Sector, &from, &to, &asOf, &l.Waived, &l.Ready, &looked)
	l.Window, l.AsOf, l.Looked = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}, kernel.Instant(asOf), kernel.Instant(looked)
	return l, err
}

// SectorLags returns which sectors lag behind the others in a namespace, and where; an unknown one has none.
func (s *Look) SectorLags(ctx context.Context, n ingest.Namespace) ([]sector.Lag, error) {
	c, err := scanCursor(s.db.QueryRow(ctx, cursorColumns+` WHERE provenance_code = ? AND operation_code = ? AND cursor_key = ?
  AND namespace_scope_code = ? AND namespace_key = ?`, n.Source, string(n.Operation), n.CursorKey, string(n.Scope), n.Key))
	if known, err := kernel.Found(err); !known || err != nil {
		return nil, kernel.Wrap("list sector lags", err)
	}
	return s.LagsOf(ctx, c.ID)
}

// LagsOf lists which sectors of a cursor lag behind the others, and where, the oldest first.
func (s *Look) LagsOf(ctx context.Context, cursorID int64) (out []sector.Lag, err error) {
	rows, err := s.db.Query(ctx, "SELECT "+LagColumns+" FROM ing_sector_lag WHERE cursor_id = ? ORDER BY window_from, sector_name, id", cursorID)
	if err == nil {
		err = kernel.Each(rows, func() error {
			l, err := ScanLag(rows.Scan)
			out = append(out, l)
			return err
		})
	}
	return out, kernel.Wrap("list sector lags", s.db.Translate(err))
}
