package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// exportAction is how the audit log calls the export of a black box.
const exportAction = "batch.export"

// NoteExport puts the export of a batch into the audit log: who, when, why, and
// under which seal (§14.10). The same bundle is noted once (I8).
func (s *Outbox) NoteExport(ctx context.Context, m blackbox.Manifest, by ingest.Act) error {
	object := fmt.Sprintf("batch/%d", m.Keys.BatchID)
	return kernel.Performed(s.step(ctx, "note export", kernel.Bulk, func(t *tx) error {
		known, err := t.wasExported(object, m.Seal)
		if known || err != nil {
			return err
		}
		if by.Rehearsal {
			return kernel.ErrRehearsed
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: exportAction, Object: object, Reason: by.Reason, Detail: map[string]any{
			"run": m.Keys.RunID, "batchNo": m.Keys.BatchNo, "seal": m.Seal, "expiresAt": m.ExpiresAt.UTC().Format(time.RFC3339), "scrubbed": m.Scrubbed, "body": m.NoBody == "",
		}})
	}))
}

// wasExported reports whether a bundle of this seal is in the log.
func (t *tx) wasExported(object, seal string) (known bool, err error) {
	rows, err := t.Query("SELECT detail FROM ing_audit_log WHERE object = ? AND action = ? ORDER BY id", object, exportAction)
	if err != nil {
		return false, err
	}
	err = kernel.Each(rows, func() error {
		var text sql.NullString
		var detail struct{ Seal string }
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text.String), &detail); err != nil {
			return fmt.Errorf("audit log of %s: %w", object, err)
		}
		known = known || detail.Seal == seal
		return nil
	})
	return known, err
}
