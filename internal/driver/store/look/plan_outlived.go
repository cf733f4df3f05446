package look

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// OutlivedPlans lists the open plans of a partition that were made before the version of the
// source began that is in force, and by other settings than that: with what tells
// whether they get anywhere. A cursor narrows it to the plans of one campaign; zero is
// all of them.
func (s *Look) OutlivedPlans(ctx context.Context, of ingest.Partition, cursor int64, specFingerprint string) ([]ingest.OutlivedPlan, error) {
	out, err := s.outlivedPlans(ctx, of, cursor, specFingerprint)
	return out, kernel.Wrap("list plans of before", s.db.Translate(err))
}

func (s *Look) outlivedPlans(ctx context.Context, of ingest.Partition, cursor int64, specFingerprint string) (out []ingest.OutlivedPlan, err error) {
	began, err := s.versionBegan(ctx, of.Source)
	if err != nil || began.IsZero() {
		return nil, err
	}
	rows, err := s.db.Query(ctx, `SELECT id, created_at FROM ing_plan WHERE provenance_code = ? AND endpoint_name = ? AND operation_code = ?
  AND status_code IN ('SLICING','PARTIAL','READY') AND spec_fingerprint <> ? AND created_at < ? AND (? = 0 OR cursor_id = ?) ORDER BY id`,
		of.Source, of.Endpoint, string(of.Operation), specFingerprint, kernel.Micros(began), cursor, cursor)
	if err != nil {
		return nil, err
	}
	err = kernel.Each(rows, func() error {
		p := ingest.OutlivedPlan{Changed: began}
		var made sql.NullInt64
		err := rows.Scan(&p.ID, &made)
		p.Made = kernel.Instant(made)
		out = append(out, p)
		return err
	})
	for i := 0; err == nil && i < len(out); i++ {
		err = s.readPast(ctx, &out[i])
	}
	return out, err
}

// versionBegan returns since when the source is what it is now; zero if it was never
// applied.
func (s *Look) versionBegan(ctx context.Context, source string) (time.Time, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return now, err
	}
	var at sql.NullInt64
	err = s.db.QueryRow(ctx, `SELECT MAX(CASE WHEN v.applied_at > v.effective_from THEN v.applied_at ELSE v.effective_from END)
  FROM reg_provenance p JOIN reg_provenance_version v ON v.provenance_id = p.id
  WHERE p.provenance_code = ? AND v.active_1 = 'Y' AND v.effective_from <= ?`, source, kernel.Micros(now)).Scan(&at)
	return kernel.Instant(at), err
}

// excused are the codes of runs that did not fail at the upstream: somebody stopped
// them, they were told to wait, or the trouble was ours.
const excused = "'" + string(fault.Interrupted) + "','" + string(fault.RequestLimit) + "','" + string(fault.RateLimited) + "','" + string(fault.StoreBusy) + "','" + string(fault.StoreFull) + "','" + ingest.LeaseExpired + "'"

// readPast reads how a plan went so far.
func (s *Look) readPast(ctx context.Context, p *ingest.OutlivedPlan) error {
	err := s.db.QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN last_error_code IS NOT NULL AND last_error_code NOT IN (`+excused+`) THEN 1 ELSE 0 END), 0)
  FROM ing_task WHERE plan_id = ? AND status_code IN ('SCHEDULED','QUEUED','DISPATCHED','EXECUTING')`, p.ID).Scan(&p.Open, &p.Failing)
	if err != nil {
		return err
	}
	rows, err := s.db.Query(ctx, `SELECT CASE WHEN status_code IN ('FAILED','CANCELLED') AND error_code IS NOT NULL AND error_code NOT IN (`+excused+`) THEN 1 ELSE 0 END, stats
  FROM ing_task_run WHERE plan_id = ? AND finished_at IS NOT NULL ORDER BY id DESC LIMIT ?`, p.ID, ingest.RunsLookedAt)
	if err != nil {
		return err
	}
	return kernel.Each(rows, func() error {
		var r ingest.PastRun
		var text sql.NullString
		if err := rows.Scan(&r.Failed, &text); err != nil {
			return err
		}
		var stats ingest.RunStats
		if text.Valid {
			if err := json.Unmarshal([]byte(text.String), &stats); err != nil {
				return err
			}
		}
		r.Pages = stats.Pages
		p.Runs = append(p.Runs, r)
		return nil
	})
}
