package store

import (
	"context"
	"database/sql"
	"math/rand/v2"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// noteBreaker lets the breaker of an endpoint know how a run ended. It is stored
// with the end of the run, so that all processes see it (D§5.23).
func (t *tx) noteBreaker(in ingest.Finish) error {
	o := in.Outcome
	failed := fault.Code(o.Code).Breaks()
	if !failed && o.Run != ingest.RunSucceeded && o.Run != ingest.RunPartial {
		return nil // cancelled, refused, or our own fault: it says nothing of the upstream
	}
	var d ingest.Dataset
	if err := t.row("SELECT p.provenance_code, p.endpoint_name FROM ing_task t JOIN ing_partition p ON p.id = t.partition_id WHERE t.id = ?", in.Lease.TaskID).
		Scan(&d.Source, &d.Endpoint); err != nil {
		return err
	}
	was, known, err := t.breaker(d, t.store.dialect.ForUpdate)
	if err != nil || !known && !failed {
		return err
	}
	now := was.Note(failed, o.Stats.Pages > 0, t.now, rand.Float64())
	switch {
	case now == was:
		return nil
	case now == fault.Breaker{}:
		return t.execOne("DELETE FROM ing_breaker WHERE provenance_code = ? AND endpoint_name = ?", d.Source, d.Endpoint)
	case !known:
		_, err := t.exec("INSERT INTO ing_breaker (failures, opened, open_until, last_error_code, updated_at, provenance_code, endpoint_name) VALUES (?,?,?,?,?,?,?)",
			now.Failures, now.Opened, micros(now.OpenUntil), orNull(o.Code), micros(t.now), d.Source, d.Endpoint)
		return err
	}
	return t.execOne("UPDATE ing_breaker SET failures = ?, opened = ?, open_until = ?, last_error_code = ?, updated_at = ? WHERE provenance_code = ? AND endpoint_name = ?",
		now.Failures, now.Opened, micros(now.OpenUntil), orNull(o.Code), micros(t.now), d.Source, d.Endpoint)
}

// breaker reads the breaker of an endpoint; one without a row is closed.
func (t *tx) breaker(d ingest.Dataset, lock string) (b fault.Breaker, known bool, err error) {
	var until sql.NullInt64
	known, err = found(t.row("SELECT failures, opened, open_until FROM ing_breaker WHERE provenance_code = ? AND endpoint_name = ?"+lock,
		d.Source, d.Endpoint).Scan(&b.Failures, &b.Opened, &until))
	b.OpenUntil = instant(until)
	return b, known, err
}

// Breakers lists the endpoints whose upstream was in trouble at the last look.
func (s *Store) Breakers(ctx context.Context) (map[ingest.Dataset]fault.Breaker, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT provenance_code, endpoint_name, failures, opened, open_until FROM ing_breaker")
	if err != nil {
		return nil, wrap("list breakers", s.dialect.Translate(err))
	}
	out := map[ingest.Dataset]fault.Breaker{}
	return out, wrap("list breakers", each(rows, func() error {
		var d ingest.Dataset
		var b fault.Breaker
		var until sql.NullInt64
		err := rows.Scan(&d.Source, &d.Endpoint, &b.Failures, &b.Opened, &until)
		b.OpenUntil = instant(until)
		out[d] = b
		return err
	}))
}
