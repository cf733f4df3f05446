package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/view"
)

const auditColumns = "SELECT id, at, actor, action, object, COALESCE(reason, ''), detail, prev_hash, row_hash FROM ing_audit_log"

// AuditLog lists what operators did, newest first.
func (s *Store) AuditLog(ctx context.Context, f view.Filter) ([]audit.Entry, error) {
	before := f.Before
	if before == 0 {
		before = 1<<63 - 1
	}
	return s.auditRows(ctx, " WHERE id < ? ORDER BY id DESC LIMIT ?", before, f.Limit)
}

// AuditChain reads the log as it was written, a page at a time.
func (s *Store) AuditChain(ctx context.Context, after int64, limit int) ([]audit.Entry, error) {
	return s.auditRows(ctx, " WHERE id > ? ORDER BY id LIMIT ?", after, limit)
}

// AuditEntry reads one entry. fault.ErrNotFound means that it is not there.
func (s *Store) AuditEntry(ctx context.Context, id int64) (audit.Entry, error) {
	e, err := scanAudit(s.queryRow(ctx, auditColumns+" WHERE id = ?", id))
	if err = orNotFound(err); err != nil {
		return e, fmt.Errorf("audit log %d: %w", id, s.translate(err))
	}
	return e, nil
}

func (s *Store) auditRows(ctx context.Context, where string, args ...any) (out []audit.Entry, err error) {
	rows, err := s.query(ctx, auditColumns+where, args...)
	if err != nil {
		return nil, wrap("read the audit log", s.translate(err))
	}
	err = each(rows, func() error {
		e, err := scanAudit(rows)
		out = append(out, e)
		return err
	})
	return out, wrap("read the audit log", err)
}

func scanAudit(row scanner) (e audit.Entry, err error) {
	var at sql.NullInt64
	var detail sql.NullString
	err = row.Scan(&e.ID, &at, &e.Actor, &e.Action, &e.Object, &e.Reason, &detail, &e.Previous, &e.Hash)
	e.At, e.Detail = instant(at), json.RawMessage(detail.String)
	return e, err
}
