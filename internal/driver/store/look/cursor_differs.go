package look

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// differingCursors are the watermarks whose newest event says another value than they have.
// Each is one look at the end of its ledger; asked for MAX, a server reads the whole of it.
const differingCursors = `SELECT c.id, c.provenance_code, c.endpoint_name, c.operation_code, COALESCE(c.cursor_value, ''), COALESCE(e.new_value, ''), e.id
  FROM ing_cursor c JOIN ing_cursor_event e ON e.id = (SELECT n.id FROM ing_cursor_event n WHERE n.cursor_id = c.id ORDER BY n.id DESC LIMIT 1)
  WHERE (? = '' OR c.provenance_code = ?) AND COALESCE(e.new_value, '') <> COALESCE(c.cursor_value, '')`

// DifferingCursors lists the watermarks, of one source or of all, that differ from the newest
// event of their ledger (C§4). It is cheap and finds less than Verify, which folds the whole
// ledger.
func (s *Look) DifferingCursors(ctx context.Context, source string) (out []view.CursorDiffers, err error) {
	rows, err := s.db.Query(ctx, differingCursors, source, source)
	if err != nil {
		return nil, kernel.Wrap("compare cursors", s.db.Translate(err))
	}
	return out, kernel.Wrap("compare cursors", kernel.Each(rows, func() error {
		var d view.CursorDiffers
		err := rows.Scan(&d.CursorID, &d.Source, &d.Endpoint, &d.Operation, &d.Value, &d.Ledger, &d.EventID)
		out = append(out, d)
		return err
	}))
}
