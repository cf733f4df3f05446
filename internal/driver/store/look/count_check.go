package look

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

const countColumns = "SELECT provenance_code, endpoint_name, window_from, window_to, expr_hash, upstream, items_read, items_enough, verdict_code, checked_at FROM ing_count_check "

// ShortCounts lists windows of which an upstream counted more than was read when they were
// compared last, of one source or of all, at most limit.
func (s *Look) ShortCounts(ctx context.Context, source string, limit int) ([]view.CountCheck, error) {
	return s.countChecks(ctx, "WHERE verdict_code = ? AND (? = '' OR provenance_code = ?) ORDER BY provenance_code, endpoint_name, window_from, window_to LIMIT ?",
		string(view.CountsShort), source, source, limit)
}

// CountChecks lists the comparisons of an endpoint whose windows reach into a range, at most
// limit.
func (s *Look) CountChecks(ctx context.Context, d ingest.Dataset, within window.Window, limit int) ([]view.CountCheck, error) {
	return s.countChecks(ctx, "WHERE provenance_code = ? AND endpoint_name = ? AND window_from < ? AND window_to > ? ORDER BY window_from, window_to LIMIT ?",
		d.Source, d.Endpoint, within.To.UnixMicro(), within.From.UnixMicro(), limit)
}

func (s *Look) countChecks(ctx context.Context, where string, args ...any) (out []view.CountCheck, err error) {
	rows, err := s.db.Query(ctx, countColumns+where, args...)
	if err != nil {
		return nil, kernel.Wrap("list counts", s.db.Translate(err))
	}
	return out, kernel.Wrap("list counts", kernel.Each(rows, func() error {
		var c view.CountCheck
		var from, to, at sql.NullInt64
		var upstream, read int64
		err := rows.Scan(&c.Source, &c.Endpoint, &from, &to, &c.Question, &upstream, &read, &c.Enough, &c.Verdict, &at)
		c.Window, c.CheckedAt, c.Upstream, c.Read = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}, kernel.Instant(at), &upstream, &read
		out = append(out, c)
		return err
	}))
}
