package ledger

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// keepCounts is how long a comparison of counts that found nothing is kept.
const keepCounts = 90 * 24 * time.Hour

const countKey = "provenance_code = ? AND endpoint_name = ? AND window_from = ? AND window_to = ?"

// NoteCounts keeps what comparisons of counts came to, in place of what earlier ones of the
// same windows did. What agreed long ago goes, so that the table stays small.
func (s *Ledger) NoteCounts(ctx context.Context, checks []view.CountCheck) error {
	return s.step(ctx, "note counts", kernel.Bulk, func(t *tx) error {
		for _, c := range checks {
			if err := t.saveCount(c); err != nil {
				return err
			}
		}
		_, err := t.Exec("DELETE FROM ing_count_check WHERE verdict_code <> ? AND checked_at < ?", string(view.CountsShort), kernel.Micros(t.Now.Add(-keepCounts)))
		return err
	})
}

func (t *tx) saveCount(c view.CountCheck) error {
	key := []any{c.Source, c.Endpoint, kernel.Micros(c.Window.From), kernel.Micros(c.Window.To)}
	values := []any{c.Question, *c.Upstream, *c.Read, c.Enough, string(c.Verdict), kernel.Micros(t.Now)}
	var at int64
	known, err := kernel.Found(t.Row("SELECT checked_at FROM ing_count_check WHERE "+countKey+t.Dialect().ForUpdate, key...).Scan(&at))
	if err != nil {
		return err
	}
	if known {
		_, err = t.Exec("UPDATE ing_count_check SET expr_hash = ?, upstream = ?, items_read = ?, items_enough = ?, verdict_code = ?, checked_at = ? WHERE "+countKey, append(values, key...)...)
		return err
	}
	_, err = t.Exec(`INSERT INTO ing_count_check (expr_hash, upstream, items_read, items_enough, verdict_code, checked_at, provenance_code, endpoint_name, window_from, window_to)
  VALUES (?,?,?,?,?,?,?,?,?,?)`, append(values, key...)...)
	return err
}
