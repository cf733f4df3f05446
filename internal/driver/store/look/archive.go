package look

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// ArchiveColumns are what ScanArchive reads.
const ArchiveColumns = `SELECT id, kind_code, status_code, COALESCE(cursor_id, 0), COALESCE(from_event, 0), COALESCE(to_event, 0), COALESCE(file_name, ''),
  COALESCE(file_hash, ''), COALESCE(file_bytes, 0), COALESCE(rows_moved, 0), lineage, COALESCE(signature, ''), COALESCE(prev_signature, ''), created_at, sealed_at
  FROM ing_archive`

// ScanArchive reads a row of ArchiveColumns.
func ScanArchive(row kernel.Scanner) (a retention.Archive, err error) {
	var lineage sql.NullString
	var created, sealed sql.NullInt64
	err = row.Scan(&a.ID, &a.Kind, &a.Status, &a.CursorID, &a.From, &a.To, &a.Name, &a.SHA256, &a.Bytes, &a.Rows, &lineage, &a.Signature, &a.Previous,
		&created, &sealed)
	if err == nil && lineage.Valid {
		err = json.Unmarshal([]byte(lineage.String), &a.Lineage)
	}
	a.CreatedAt, a.SealedAt = kernel.Instant(created), kernel.Instant(sealed)
	return a, err
}

// Archives lists files of history, oldest first, after an id. Those that are not
// sealed yet are among them.
func (s *Look) Archives(ctx context.Context, after int64, limit int) ([]retention.Archive, error) {
	return s.listArchives(ctx, " WHERE id > ? ORDER BY id LIMIT ?", after, limit)
}

// ArchivesOf lists the files of a cursor's ledger, oldest first: those that are
// sealed, so that a snapshot stands for them.
func (s *Look) ArchivesOf(ctx context.Context, cursorID int64) ([]retention.Archive, error) {
	return s.listArchives(ctx, " WHERE cursor_id = ? AND status_code <> '"+string(retention.Writing)+"' ORDER BY id", cursorID)
}

// UnfinishedArchives lists what was begun and not brought to its end.
func (s *Look) UnfinishedArchives(ctx context.Context) (out []retention.Archive, err error) {
	for _, status := range []retention.Status{retention.Sealed, retention.Writing} {
		found, err := s.listArchives(ctx, " WHERE status_code = ? ORDER BY id", string(status))
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	for i, a := range out {
		if out[i].PlanIDs, err = s.archivedPlans(ctx, a.ID); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *Look) listArchives(ctx context.Context, where string, args ...any) (out []retention.Archive, err error) {
	rows, err := s.db.Query(ctx, ArchiveColumns+where, args...)
	if err != nil {
		return nil, kernel.Wrap("list archives", s.db.Translate(err))
	}
	return out, kernel.Wrap("list archives", kernel.Each(rows, func() error {
		a, err := ScanArchive(rows)
		out = append(out, a)
		return err
	}))
}

func (s *Look) archivedPlans(ctx context.Context, archiveID int64) (out []int64, err error) {
	rows, err := s.db.Query(ctx, "SELECT plan_id FROM ing_archived_plan WHERE archive_id = ? ORDER BY plan_id", archiveID)
	if err != nil {
		return nil, kernel.Wrap("list archived plans", s.db.Translate(err))
	}
	return out, kernel.Wrap("list archived plans", kernel.Each(rows, func() error {
		var id int64
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	}))
}

// Snapshot returns the signed snapshot that a cursor's ledger begins with.
func (s *Look) Snapshot(ctx context.Context, cursorID, eventID int64) (signed retention.Signed, err error) {
	var kind, key string
	var remarks sql.NullString
	err = s.db.QueryRow(ctx, "SELECT kind_code, idempotent_key, record_remarks FROM ing_cursor_event WHERE id = ? AND cursor_id = ?", eventID, cursorID).
		Scan(&kind, &key, &remarks)
	if err != nil {
		return signed, kernel.Wrap("read snapshot", s.db.Translate(kernel.OrNotFound(err)))
	}
	if signed, err = retention.ReadSigned([]byte(remarks.String)); err != nil || kind != string(coverage.Snapshot) || key != signed.Signature {
		return signed, fmt.Errorf("read snapshot: %w: event %d is no snapshot that fits its signature", fault.ErrInvalid, eventID)
	}
	return signed, nil
}

// archivedOf returns how many plans of a cursor are in files and left the
// database, and what they had counted.
func (s *Look) archivedOf(ctx context.Context, cursorID int64) (plans int, sum ingest.RunStats, err error) {
	rows, err := s.db.Query(ctx, `SELECT a.stats FROM ing_archived_plan a WHERE a.cursor_id = ?
  AND NOT EXISTS (SELECT 1 FROM ing_plan p WHERE p.id = a.plan_id)`, cursorID)
	if err != nil {
		return 0, sum, s.db.Translate(err)
	}
	err = kernel.Each(rows, func() error {
		var text sql.NullString
		var one ingest.RunStats
		if err := rows.Scan(&text); err != nil {
			return err
		}
		plans++
		err := kernel.Decode(text, &one)
		sum = sum.Add(one)
		return err
	})
	return plans, sum, err
}

// addArchived counts what a campaign had before its plans left for files.
func (s *Look) addArchived(ctx context.Context, v *view.Campaign) error {
	plans, sum, err := s.archivedOf(ctx, v.CursorID)
	v.Archived, v.Plans, v.Stats = plans, v.Plans+plans, v.Stats.Add(sum)
	return err
}
