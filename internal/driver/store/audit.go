package store

import (
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/audit"
)

// auditEntry is one act of an operator.
type auditEntry struct {
	at                            time.Time
	actor, action, object, reason string
	detail                        map[string]any // never a secret
}

// audit adds to the log. Each row holds the hash of the one before it, so that
// a row that is changed or taken out shows. Of two who append at once, one is
// refused by the key of prev_hash and its step is redone. The id is ours, not the
// database's: the hash covers it.
func (t *tx) audit(e auditEntry) error {
	detail, err := json.Marshal(e.detail)
	if err != nil {
		return err
	}
	entry := audit.Entry{
		At: e.at, Actor: cut(e.actor, 128), Action: e.action, Object: cut(e.object, 256), Reason: cut(e.reason, 512), Detail: detail, Previous: audit.Root(),
	}
	before := int64(0)
	if _, err := found(t.row("SELECT id, row_hash FROM ing_audit_log ORDER BY id DESC LIMIT 1").Scan(&before, &entry.Previous)); err != nil {
		return err
	}
	entry.ID = audit.Next(before)
	_, err = t.exec("INSERT INTO ing_audit_log (id, at, actor, action, object, reason, detail, prev_hash, row_hash) VALUES (?,?,?,?,?,?,?,?,?)",
		entry.ID, micros(entry.At), entry.Actor, entry.Action, entry.Object, orNull(entry.Reason), string(entry.Detail), entry.Previous, entry.Sum())
	return err
}
