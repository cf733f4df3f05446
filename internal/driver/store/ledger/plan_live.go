package ledger

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// recentPlans is how many plans of a question are looked at: older ones read as
// of long ago.
const recentPlans = 20

// LivePlans lists the newest plans of a partition that were made by this very
// snapshot, newest first, ended ones among them.
func (s *Ledger) LivePlans(ctx context.Context, p ingest.Partition, specFingerprint string) ([]ingest.LivePlan, error) {
	list, keys, err := s.newestPlans(ctx, p, specFingerprint)
	if err != nil {
		return nil, kernel.Wrap("list live plans", s.db.Translate(err))
	}
	for i := range list {
		if list[i].Owed, _, err = s.owedBy(ctx, keys[i].cursor, keys[i].plan); err != nil {
			return nil, kernel.Wrap("list live plans", s.db.Translate(err))
		}
	}
	return list, nil
}

// SetByHandSince reports whether the watermark of a plan was set by hand after the plan was
// stored: what the plan had read by then is open again. Events are compared by their order,
// which no clock changes.
func (s *Ledger) SetByHandSince(ctx context.Context, planID int64) (since bool, err error) {
	var by plannedBy
	known, err := kernel.Found(s.db.QueryRow(ctx, "SELECT plan_key, cursor_id FROM ing_plan WHERE id = ?", planID).Scan(&by.plan, &by.cursor))
	if err == nil && known {
		err = s.db.QueryRow(ctx, `SELECT COUNT(*) > 0 FROM ing_cursor_event WHERE cursor_id = ? AND kind_code = ?
  AND id > (SELECT id FROM ing_cursor_event WHERE idempotent_key = ?)`, by.cursor, string(coverage.Manual), plannedKey(by.cursor, by.plan)).Scan(&since)
	}
	return since, kernel.Wrap("look whether a watermark was set by hand", s.db.Translate(err))
}

type plannedBy struct {
	cursor int64
	plan   string
}

func (s *Ledger) newestPlans(ctx context.Context, p ingest.Partition, specFingerprint string) (out []ingest.LivePlan, keys []plannedBy, err error) {
	rows, err := s.db.Query(ctx, `SELECT id, plan_key, cursor_id, status_code, window_from, window_to, as_of, created_at, updated_at FROM ing_plan
  WHERE provenance_code = ? AND endpoint_name = ? AND operation_code = ? AND spec_fingerprint = ? ORDER BY id DESC LIMIT ?`,
		p.Source, p.Endpoint, string(p.Operation), specFingerprint, recentPlans)
	if err != nil {
		return nil, nil, err
	}
	return out, keys, kernel.Each(rows, func() error {
		var l ingest.LivePlan
		var k plannedBy
		var from, to, asOf, created, changed sql.NullInt64
		err := rows.Scan(&l.ID, &k.plan, &k.cursor, &l.Status, &from, &to, &asOf, &created, &changed)
		l.Window, l.AsOf = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}, kernel.Instant(asOf)
		l.CreatedAt, l.ChangedAt = kernel.Instant(created), kernel.Instant(changed)
		out, keys = append(out, l), append(keys, k)
		return err
	})
}
