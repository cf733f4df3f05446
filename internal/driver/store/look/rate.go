package look

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// RateReports lists what processes that are alive said of their keys.
func (s *Look) RateReports(ctx context.Context) (map[string][]view.RateReport, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, `SELECT r.rate_key, e.executor_id, e.host, e.pid, r.snapshot, r.reported_at FROM ing_executor e
  JOIN ing_rate_report r ON r.executor_id = e.executor_id WHERE e.alive_until >= ? ORDER BY r.rate_key, e.executor_id`, kernel.Micros(now))
	if err != nil {
		return nil, kernel.Wrap("list rates", s.db.Translate(err))
	}
	out := map[string][]view.RateReport{}
	return out, kernel.Wrap("list rates", kernel.Each(rows, func() error {
		var key, text string
		var r view.RateReport
		var at sql.NullInt64
		if err := rows.Scan(&key, &r.Process, &r.Host, &r.PID, &text, &at); err != nil {
			return err
		}
		r.At = kernel.Instant(at)
		err := json.Unmarshal([]byte(text), &r.State)
		out[key] = append(out[key], r)
		return err
	}))
}

// RatePauses tells until when nothing of a key may leave, by key.
func (s *Look) RatePauses(ctx context.Context) (map[string]time.Time, error) {
	rows, err := s.db.Query(ctx, "SELECT rate_key, until FROM ing_rate_pause")
	if err != nil {
		return nil, kernel.Wrap("list cool-downs", s.db.Translate(err))
	}
	out := map[string]time.Time{}
	return out, kernel.Wrap("list cool-downs", kernel.Each(rows, func() error {
		var key string
		var until sql.NullInt64
		err := rows.Scan(&key, &until)
		out[key] = kernel.Instant(until)
		return err
	}))
}

// BreakerRows lists the breakers of endpoints whose last run failed, with the
// error and the instant of it.
func (s *Look) BreakerRows(ctx context.Context) (map[ingest.Dataset]view.RateBreaker, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, "SELECT provenance_code, endpoint_name, failures, opened, open_until, last_error_code, updated_at FROM ing_breaker")
	if err != nil {
		return nil, kernel.Wrap("list breakers", s.db.Translate(err))
	}
	out := map[ingest.Dataset]view.RateBreaker{}
	return out, kernel.Wrap("list breakers", kernel.Each(rows, func() error {
		var d ingest.Dataset
		var b view.RateBreaker
		var until, at sql.NullInt64
		var code sql.NullString
		err := rows.Scan(&d.Source, &d.Endpoint, &b.Failures, &b.Opened, &until, &code, &at)
		b.Until, b.LastError, b.At = kernel.Instant(until), code.String, kernel.Instant(at)
		b.State = fault.Breaker{OpenUntil: b.Until}.State(now)
		out[d] = b
		return err
	}))
}
