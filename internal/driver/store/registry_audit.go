package store

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

// auditEntry is one act of an operator.
type auditEntry struct {
	at                            time.Time
	actor, action, object, reason string
	detail                        map[string]any // never a secret
}

// audit adds to the log. Each row holds the hash of the one before it, so that
// a row that is changed or taken out shows. Of two who append at once, one is
// refused by the key of prev_hash and its step is redone.
func (t *tx) audit(e auditEntry) error {
	detail, err := json.Marshal(e.detail)
	if err != nil {
		return err
	}
	before := strings.Repeat("0", 64)
	if _, err := found(t.row("SELECT row_hash FROM ing_audit_log ORDER BY id DESC LIMIT 1").Scan(&before)); err != nil {
		return err
	}
	e.actor, e.object, e.reason = cut(e.actor, 128), cut(e.object, 256), cut(e.reason, 512)
	hash := fingerprint.Key(before, strconv.FormatInt(e.at.UnixMicro(), 10), e.actor, e.action, e.object, e.reason, string(detail))
	_, err = t.exec("INSERT INTO ing_audit_log (at, actor, action, object, reason, detail, prev_hash, row_hash) VALUES (?,?,?,?,?,?,?,?)",
		micros(e.at), e.actor, e.action, e.object, orNull(e.reason), string(detail), before, hash)
	return err
}
