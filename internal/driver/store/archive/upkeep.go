package archive

import (
	"context"
	"database/sql"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// markAt returns how far a duty has come.
func markAt(row func(string, ...any) kernel.Scanner, name string) (position int64, err error) {
	_, err = kernel.Found(row("SELECT position FROM ing_upkeep_mark WHERE name = ?", name).Scan(&position))
	return position, err
}

// markIfAt moves a mark on if it is where the page that was done begins: behind
// something that stays, it waits there.
func (t *tx) markIfAt(name string, from, to int64) error {
	now, err := markAt(t.Row, name)
	if err != nil || now != from {
		return err
	}
	n, err := t.Affected("UPDATE ing_upkeep_mark SET position = ?, updated_at = ? WHERE name = ?", to, kernel.Micros(t.Now), name)
	if err == nil && n == 0 {
		_, err = t.Exec("INSERT INTO ing_upkeep_mark (name, position, updated_at) VALUES (?,?,?)", name, to, kernel.Micros(t.Now))
	}
	return err
}

// EndUpkeep notes that a run of a duty has ended, and keeps what it did in the
// audit log if it did anything. The same run ends once (I8).
func (s *Archive) EndUpkeep(ctx context.Context, duty, runKey string, by ingest.Act, did map[string]any) error {
	return s.step(ctx, "end upkeep", kernel.Bulk, func(t *tx) error {
		var last sql.NullString
		known, err := kernel.Found(t.Row("SELECT run_key FROM ing_upkeep_mark WHERE name = ?"+t.Dialect().ForUpdate, duty).Scan(&last))
		if err != nil || last.String == runKey {
			return err
		}
		query := "UPDATE ing_upkeep_mark SET run_key = ?, updated_at = ? WHERE name = ?"
		if !known {
			query = "INSERT INTO ing_upkeep_mark (run_key, updated_at, name) VALUES (?,?,?)"
		}
		if _, err := t.Exec(query, runKey, kernel.Micros(t.Now), duty); err != nil || len(did) == 0 {
			return err
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: duty, Object: "database", Reason: by.Reason, Detail: did})
	})
}

// LastUpkeep returns when a run of a duty ended last; zero if none did.
func (s *Archive) LastUpkeep(ctx context.Context, duty string) (time.Time, error) {
	var at sql.NullInt64
	_, err := kernel.Found(s.db.QueryRow(ctx, "SELECT updated_at FROM ing_upkeep_mark WHERE name = ?", duty).Scan(&at))
	return kernel.Instant(at), kernel.Wrap("look for the last upkeep", s.db.Translate(err))
}
