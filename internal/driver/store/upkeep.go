package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// markAt is how far a duty has come.
func markAt(row func(string, ...any) scanner, name string) (position int64, err error) {
	_, err = found(row("SELECT position FROM ing_upkeep_mark WHERE name = ?", name).Scan(&position))
	return position, err
}

// markIfAt moves a mark on if it is where the page that was done begins: behind
// something that stays, it waits there.
func (t *tx) markIfAt(name string, from, to int64) error {
	now, err := markAt(t.row, name)
	if err != nil || now != from {
		return err
	}
	n, err := t.affected("UPDATE ing_upkeep_mark SET position = ?, updated_at = ? WHERE name = ?", to, micros(t.now), name)
	if err == nil && n == 0 {
		_, err = t.exec("INSERT INTO ing_upkeep_mark (name, position, updated_at) VALUES (?,?,?)", name, to, micros(t.now))
	}
	return err
}

// EndUpkeep notes that a run of a duty has ended, and keeps what it did in the
// audit log if it did anything. The same run ends once (I8).
func (s *Store) EndUpkeep(ctx context.Context, duty, runKey string, by ingest.Act, did map[string]any) error {
	return s.step(ctx, "end upkeep", bulk, func(t *tx) error {
		var last sql.NullString
		known, err := found(t.row("SELECT run_key FROM ing_upkeep_mark WHERE name = ?"+t.dialect().ForUpdate, duty).Scan(&last))
		if err != nil || last.String == runKey {
			return err
		}
		query := "UPDATE ing_upkeep_mark SET run_key = ?, updated_at = ? WHERE name = ?"
		if !known {
			query = "INSERT INTO ing_upkeep_mark (run_key, updated_at, name) VALUES (?,?,?)"
		}
		if _, err := t.exec(query, runKey, micros(t.now), duty); err != nil || len(did) == 0 {
			return err
		}
		return t.audit(auditEntry{at: t.now, actor: by.Actor, action: duty, object: "database", reason: by.Reason, detail: did})
	})
}

// LastUpkeep is when a run of a duty ended last; zero if none did.
func (s *Store) LastUpkeep(ctx context.Context, duty string) (time.Time, error) {
	var at sql.NullInt64
	_, err := found(s.queryRow(ctx, "SELECT updated_at FROM ing_upkeep_mark WHERE name = ?", duty).Scan(&at))
	return instant(at), wrap("look for the last upkeep", s.translate(err))
}
