package look

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

const auditColumns = "SELECT id, at, actor, action, object, COALESCE(reason, ''), detail, prev_hash, row_hash FROM ing_audit_log"

// AuditLog lists what operators did, newest first.
func (s *Look) AuditLog(ctx context.Context, f view.Filter) ([]audit.Entry, error) {
	before := f.Before
	if before == 0 {
		before = 1<<63 - 1
	}
	return s.auditRows(ctx, " WHERE id < ? ORDER BY id DESC LIMIT ?", before, f.Limit)
}

// AuditChain reads the log as it was written, a page at a time.
func (s *Look) AuditChain(ctx context.Context, after int64, limit int) ([]audit.Entry, error) {
	return s.auditRows(ctx, " WHERE id > ? ORDER BY id LIMIT ?", after, limit)
}

// AuditEntry reads one entry. fault.ErrNotFound means that it is not there.
func (s *Look) AuditEntry(ctx context.Context, id int64) (audit.Entry, error) {
	e, err := scanAudit(s.db.QueryRow(ctx, auditColumns+" WHERE id = ?", id))
	if err = kernel.OrNotFound(err); err != nil {
		return e, fmt.Errorf("audit log %d: %w", id, s.db.Translate(err))
	}
	return e, nil
}

func (s *Look) auditRows(ctx context.Context, where string, args ...any) (out []audit.Entry, err error) {
	rows, err := s.db.Query(ctx, auditColumns+where, args...)
	if err != nil {
		return nil, kernel.Wrap("read the audit log", s.db.Translate(err))
	}
	err = kernel.Each(rows, func() error {
		e, err := scanAudit(rows)
		out = append(out, e)
		return err
	})
	return out, kernel.Wrap("read the audit log", err)
}

func scanAudit(row kernel.Scanner) (e audit.Entry, err error) {
	var at sql.NullInt64
	var detail sql.NullString
	err = row.Scan(&e.ID, &at, &e.Actor, &e.Action, &e.Object, &e.Reason, &detail, &e.Previous, &e.Hash)
	e.At, e.Detail = kernel.Instant(at), json.RawMessage(detail.String)
	return e, err
}
