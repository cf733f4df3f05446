package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
)

const archiveColumns = `SELECT id, kind_code, status_code, COALESCE(cursor_id, 0), COALESCE(from_event, 0), COALESCE(to_event, 0), COALESCE(file_name, ''),
  COALESCE(file_hash, ''), COALESCE(file_bytes, 0), COALESCE(rows_moved, 0), lineage, COALESCE(signature, ''), COALESCE(prev_signature, ''), created_at, sealed_at
  FROM ing_archive`

func scanArchive(row scanner) (a retention.Archive, err error) {
	var lineage sql.NullString
	var created, sealed sql.NullInt64
	err = row.Scan(&a.ID, &a.Kind, &a.Status, &a.CursorID, &a.From, &a.To, &a.Name, &a.SHA256, &a.Bytes, &a.Rows, &lineage, &a.Signature, &a.Previous,
		&created, &sealed)
	if err == nil && lineage.Valid {
		err = json.Unmarshal([]byte(lineage.String), &a.Lineage)
	}
	a.CreatedAt, a.SealedAt = instant(created), instant(sealed)
	return a, err
}

// Archives lists files of history, oldest first, after an id. Those that are not
// sealed yet are among them.
func (s *Store) Archives(ctx context.Context, after int64, limit int) ([]retention.Archive, error) {
	return s.archives(ctx, " WHERE id > ? ORDER BY id LIMIT ?", after, limit)
}

// ArchivesOf lists the files of a cursor's ledger, oldest first: those that are
// sealed, so that a snapshot stands for them.
func (s *Store) ArchivesOf(ctx context.Context, cursorID int64) ([]retention.Archive, error) {
	return s.archives(ctx, " WHERE cursor_id = ? AND status_code <> '"+string(retention.Writing)+"' ORDER BY id", cursorID)
}

// UnfinishedArchives lists what was begun and not brought to its end.
func (s *Store) UnfinishedArchives(ctx context.Context) (out []retention.Archive, err error) {
	for _, status := range []retention.Status{retention.Sealed, retention.Writing} {
		found, err := s.archives(ctx, " WHERE status_code = ? ORDER BY id", string(status))
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

func (s *Store) archives(ctx context.Context, where string, args ...any) (out []retention.Archive, err error) {
	rows, err := s.read.QueryContext(ctx, archiveColumns+where, args...)
	if err != nil {
		return nil, wrap("list archives", s.dialect.Translate(err))
	}
	return out, wrap("list archives", each(rows, func() error {
		a, err := scanArchive(rows)
		out = append(out, a)
		return err
	}))
}

func (s *Store) archivedPlans(ctx context.Context, archiveID int64) (out []int64, err error) {
	rows, err := s.read.QueryContext(ctx, "SELECT plan_id FROM ing_archived_plan WHERE archive_id = ? ORDER BY plan_id", archiveID)
	if err != nil {
		return nil, wrap("list archived plans", s.dialect.Translate(err))
	}
	return out, wrap("list archived plans", each(rows, func() error {
		var id int64
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	}))
}

// lockArchive reads an archive that a step is about to change.
func (t *tx) lockArchive(id int64) (retention.Archive, error) {
	a, err := scanArchive(t.row(archiveColumns+" WHERE id = ?"+t.store.dialect.ForUpdate, id))
	return a, orNotFound(err)
}

// NameArchive says under which name the file of an archive is being written, and
// gives the name of the attempt before. Whoever does not hold the newest name
// cannot seal.
func (s *Store) NameArchive(ctx context.Context, id int64, name string) (before string, err error) {
	err = s.step(ctx, "name archive", bulk, func(t *tx) error {
		a, err := t.lockArchive(id)
		if err != nil {
			return err
		}
		if a.Status != retention.Writing {
			return fmt.Errorf("%w: archive %d is %s", fault.ErrStale, id, a.Status)
		}
		if before = a.Name; before == name {
			before = ""
			return nil
		}
		return t.execOne("UPDATE ing_archive SET file_name = ? WHERE id = ?", name, id)
	})
	return before, err
}

// seal writes what is known of the file. From here on the rows in it may go.
func (t *tx) seal(a retention.Archive, f retention.File, signature string) error {
	lineage, err := json.Marshal(f.Lineage)
	if err != nil {
		return err
	}
	return t.execOne(`UPDATE ing_archive SET status_code = ?, file_hash = ?, file_bytes = ?, rows_moved = ?, lineage = ?, signature = ?, prev_signature = ?,
  sealed_at = ? WHERE id = ?`, string(retention.Sealed), f.SHA256, f.Bytes, f.Rows, string(lineage), orNull(signature), orNull(a.Previous), micros(t.now), a.ID)
}

// sealable reports whether an archive waits for this file; false if it has it.
func sealable(a retention.Archive, f retention.File) (bool, error) {
	switch {
	case a.Status != retention.Writing && a.SHA256 == f.SHA256:
		return false, nil // sealed before, and the answer was lost
	case a.Status != retention.Writing || a.Name != f.Name:
		return false, fmt.Errorf("%w: archive %d is %s as %q: another process went on with it", fault.ErrStale, a.ID, a.Status, a.Name)
	}
	return true, nil
}

// FinishArchive notes that all rows of a sealed archive are in its file alone.
func (s *Store) FinishArchive(ctx context.Context, id int64) error {
	return s.step(ctx, "finish archive", bulk, func(t *tx) error {
		a, err := t.lockArchive(id)
		if err != nil || a.Status == retention.Done {
			return err
		}
		if a.Status != retention.Sealed {
			return fmt.Errorf("%w: archive %d is %s", fault.ErrInvalid, id, a.Status)
		}
		return t.execOne("UPDATE ing_archive SET status_code = ?, finished_at = ? WHERE id = ?", string(retention.Done), micros(t.now), id)
	})
}

// AbandonArchive takes back what was decided and not sealed: something it was to
// hold has changed since.
func (s *Store) AbandonArchive(ctx context.Context, id int64) error {
	return s.step(ctx, "abandon archive", bulk, func(t *tx) error {
		known, err := found(t.row("SELECT id FROM ing_archive WHERE id = ? AND status_code = '"+string(retention.Writing)+"'"+t.store.dialect.ForUpdate, id).Scan(&id))
		if err != nil || !known {
			return err
		}
		if _, err := t.exec("DELETE FROM ing_archived_plan WHERE archive_id = ?", id); err != nil {
			return err
		}
		return t.execOne("DELETE FROM ing_archive WHERE id = ?", id)
	})
}
