package archive

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// lockArchive reads an archive that a step is about to change.
func (t *tx) lockArchive(id int64) (retention.Archive, error) {
	a, err := look.ScanArchive(t.Row(look.ArchiveColumns+" WHERE id = ?"+t.Dialect().ForUpdate, id))
	return a, kernel.OrNotFound(err)
}

// NameArchive says under which name the file of an archive is being written, and
// gives the name of the attempt before. Whoever does not hold the newest name
// cannot seal.
func (s *Archive) NameArchive(ctx context.Context, id int64, name string) (before string, err error) {
	err = s.step(ctx, "name archive", kernel.Bulk, func(t *tx) error {
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
		return t.ExecOne("UPDATE ing_archive SET file_name = ? WHERE id = ?", name, id)
	})
	return before, err
}

// sealArchive writes what is known of the file. From here on the rows in it may go.
func (t *tx) sealArchive(a retention.Archive, f retention.File, signature string) error {
	lineage, err := json.Marshal(f.Lineage)
	if err != nil {
		return err
	}
	return t.ExecOne(`UPDATE ing_archive SET status_code = ?, file_hash = ?, file_bytes = ?, rows_moved = ?, lineage = ?, signature = ?, prev_signature = ?,
  sealed_at = ? WHERE id = ?`, string(retention.Sealed), f.SHA256, f.Bytes, f.Rows, string(lineage), kernel.OrNull(signature), kernel.OrNull(a.Previous), kernel.Micros(t.Now), a.ID)
}

// canSeal reports whether an archive waits for this file; false if it has it.
func canSeal(a retention.Archive, f retention.File) (bool, error) {
	switch {
	case a.Status != retention.Writing && a.SHA256 == f.SHA256:
		return false, nil // sealed before, and the answer was lost
	case a.Status != retention.Writing || a.Name != f.Name:
		return false, fmt.Errorf("%w: archive %d is %s as %q: another process went on with it", fault.ErrStale, a.ID, a.Status, a.Name)
	}
	return true, nil
}

// FinishArchive notes that all rows of a sealed archive are in its file alone.
func (s *Archive) FinishArchive(ctx context.Context, id int64) error {
	return s.step(ctx, "finish archive", kernel.Bulk, func(t *tx) error {
		a, err := t.lockArchive(id)
		if err != nil || a.Status == retention.Done {
			return err
		}
		if a.Status != retention.Sealed {
			return fmt.Errorf("%w: archive %d is %s", fault.ErrInvalid, id, a.Status)
		}
		return t.ExecOne("UPDATE ing_archive SET status_code = ?, finished_at = ? WHERE id = ?", string(retention.Done), kernel.Micros(t.Now), id)
	})
}

// AbandonArchive takes back what was decided and not sealed: something it was to
// hold has changed since.
func (s *Archive) AbandonArchive(ctx context.Context, id int64) error {
	return s.step(ctx, "abandon archive", kernel.Bulk, func(t *tx) error {
		known, err := kernel.Found(t.Row("SELECT id FROM ing_archive WHERE id = ? AND status_code = '"+string(retention.Writing)+"'"+t.Dialect().ForUpdate, id).Scan(&id))
		if err != nil || !known {
			return err
		}
		if _, err := t.Exec("DELETE FROM ing_archived_plan WHERE archive_id = ?", id); err != nil {
			return err
		}
		return t.ExecOne("DELETE FROM ing_archive WHERE id = ?", id)
	})
}
