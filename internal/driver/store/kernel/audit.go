package kernel

import (
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/audit"
)

// AuditEntry is one act of an operator.
type AuditEntry struct {
	At                            time.Time
	Actor, Action, Object, Reason string
	Detail                        map[string]any // never a secret
}

// Audit adds to the log. Each row holds the hash of the one before it, so that
// a row that is changed or taken out shows. Of two who append at once, one is
// refused by the key of prev_hash and its step is redone. The id is ours, not the
// database's: the hash covers it.
func (t *Tx) Audit(e AuditEntry) error {
	detail, err := json.Marshal(e.Detail)
	if err != nil {
		return err
	}
	entry := audit.Entry{
		At: e.At, Actor: Cut(e.Actor, 128), Action: e.Action, Object: Cut(e.Object, 256), Reason: Cut(e.Reason, 512), Detail: detail, Previous: audit.Root(),
	}
	before := int64(0)
	if _, err := Found(t.Row("SELECT id, row_hash FROM ing_audit_log ORDER BY id DESC LIMIT 1").Scan(&before, &entry.Previous)); err != nil {
		return err
	}
	entry.ID = audit.Next(before)
	_, err = t.Exec("INSERT INTO ing_audit_log (id, at, actor, action, object, reason, detail, prev_hash, row_hash) VALUES (?,?,?,?,?,?,?,?,?)",
		entry.ID, Micros(entry.At), entry.Actor, entry.Action, entry.Object, OrNull(entry.Reason), string(entry.Detail), entry.Previous, entry.Sum())
	return err
}
