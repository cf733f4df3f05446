package look

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// JobColumns is what is read of an export, for ScanJob.
const JobColumns = `x.id, x.kind_code, x.status_code, x.actor, x.reason, x.provenance_code, x.endpoint_name, x.question_json, x.claim_key,
  x.records, x.share_done, x.bytes, x.file_name, x.sha256, x.mark_text, x.error_msg, x.created_at, x.started_at, x.finished_at, x.expires_at`

// ScanJob reads a row of JobColumns.
func ScanJob(row kernel.Scanner) (j export.Job, err error) {
	var question, claim, file, sum, mark, wrong sql.NullString
	var created, started, finished, expires sql.NullInt64
	if err := row.Scan(&j.ID, &j.Kind, &j.Status, &j.Actor, &j.Reason, &j.Source, &j.Endpoint, &question, &claim,
		&j.Records, &j.Share, &j.Bytes, &file, &sum, &mark, &wrong, &created, &started, &finished, &expires); err != nil {
		return j, err
	}
	j.Claim, j.File, j.SHA256, j.Error = claim.String, file.String, sum.String, wrong.String
	if j.Kind == export.JobBlackBox {
		j.Seal = mark.String
	} else {
		j.Cursor = mark.String
	}
	j.CreatedAt, j.StartedAt, j.FinishedAt, j.ExpiresAt = kernel.Instant(created), kernel.Instant(started), kernel.Instant(finished), kernel.Instant(expires)
	return j, kernel.Decode(question, &j.Question)
}

// Exports lists exports that were asked for, newest first; those of one caller if actor is
// given.
func (s *Look) Exports(ctx context.Context, f view.Filter, actor string) (out []export.Job, err error) {
	err = s.listRows(ctx, "list exports", "SELECT "+JobColumns+" FROM "+page, "ing_export", "x", f, func(w *kernel.Where) {
		w.Add(actor != "", "x.actor = ?", actor)
	}, func(rows *sql.Rows) error {
		j, err := ScanJob(rows)
		out = append(out, j)
		return err
	})
	return out, err
}

// Export reads one export that was asked for.
func (s *Look) Export(ctx context.Context, id int64) (export.Job, error) {
	j, err := ScanJob(s.db.QueryRow(ctx, "SELECT "+JobColumns+" FROM ing_export x WHERE x.id = ?", id))
	if err = kernel.OrNotFound(err); err != nil {
		return export.Job{}, fmt.Errorf("export %d: %w", id, s.db.Translate(err))
	}
	return j, nil
}
