package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// NoteChange writes down that a cause of failures in a scope has changed now. The
// mark of a secret that is seen for the first time is no change: nothing is known of
// the one before.
func (s *Ledger) NoteChange(ctx context.Context, scope ingest.Scope, what ingest.Change, mark string) error {
	return s.step(ctx, "note change", kernel.Urgent, func(t *tx) error { return t.noteChange(scope, what, mark) })
}

func (t *tx) noteChange(scope ingest.Scope, what ingest.Change, mark string) error {
	if mark != "" {
		var same int
		known, err := kernel.Found(t.Row(`SELECT 1 FROM ing_source_change WHERE provenance_code = ? AND endpoint_name = ? AND operation_code = ? AND cause_code = ? AND mark = ?`,
			scope.Source, scope.Endpoint, string(scope.Operation), string(what), mark).Scan(&same))
		if err != nil || known {
			return err
		}
	}
	n, err := t.Affected(`UPDATE ing_source_change SET changed_at = ?, mark = ? WHERE provenance_code = ? AND endpoint_name = ? AND operation_code = ? AND cause_code = ?`,
		kernel.Micros(t.Now), kernel.OrNull(mark), scope.Source, scope.Endpoint, string(scope.Operation), string(what))
	if err != nil || n > 0 {
		return err
	}
	at := t.Now
	if what == ingest.ChangeSecret {
		at = time.Unix(0, 0)
	}
	_, err = t.Exec("INSERT INTO ing_source_change (provenance_code, endpoint_name, operation_code, cause_code, changed_at, mark) VALUES (?,?,?,?,?,?)",
		scope.Source, scope.Endpoint, string(scope.Operation), string(what), at.UnixMicro(), kernel.OrNull(mark))
	return err
}

// SecretMark returns the mark of the secrets a scope was last seen with; empty if nobody
// looked yet.
func (s *Ledger) SecretMark(ctx context.Context, of ingest.Scope) (mark string, err error) {
	var text sql.NullString
	_, err = kernel.Found(s.db.QueryRow(ctx, `SELECT mark FROM ing_source_change WHERE provenance_code = ? AND endpoint_name = ? AND operation_code = ? AND cause_code = ?`,
		of.Source, of.Endpoint, string(of.Operation), string(ingest.ChangeSecret)).Scan(&text))
	return text.String, kernel.Wrap("read secret mark", s.db.Translate(err))
}

// CauseChanged returns when something was changed last that may have made a partition fail: a
// pause was ended, a secret replaced, or a version of the source began. Zero: nothing ever was.
func (s *Ledger) CauseChanged(ctx context.Context, of ingest.Partition) (time.Time, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return now, err
	}
	var at sql.NullInt64
	err = s.db.QueryRow(ctx, `SELECT MAX(c.changed) FROM (
  SELECT changed_at AS changed FROM ing_source_change WHERE provenance_code = ? AND endpoint_name IN ('', ?) AND operation_code IN ('', ?)
  UNION ALL SELECT CASE WHEN v.applied_at > v.effective_from THEN v.applied_at ELSE v.effective_from END AS changed
  FROM reg_provenance p JOIN reg_provenance_version v ON v.provenance_id = p.id
  WHERE p.provenance_code = ? AND v.active_1 = 'Y' AND v.effective_from <= ?) c`,
		of.Source, of.Endpoint, string(of.Operation), of.Source, kernel.Micros(now)).Scan(&at)
	if !at.Valid || at.Int64 <= 0 {
		return time.Time{}, kernel.Wrap("look for changes", s.db.Translate(err))
	}
	return kernel.Instant(at), nil
}
