package registry

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// LoadSource reads a source back from the registry tables as of now; false if no
// version of it is in force.
func (s *Registry) LoadSource(ctx context.Context, code string) (*registry.Source, bool, error) {
	return s.loadSource(ctx, code, time.Time{})
}

// LoadSourceAt reads a source as it was, is or will be at an instant, as far as
// is known now.
func (s *Registry) LoadSourceAt(ctx context.Context, code string, at time.Time) (*registry.Source, bool, error) {
	return s.loadSource(ctx, code, at)
}

func (s *Registry) loadSource(ctx context.Context, code string, at time.Time) (src *registry.Source, ok bool, err error) {
	var rows []storedRow
	err = s.db.ReadView(ctx, func(q kernel.Querier) error {
		rows = nil
		p, found, err := s.lookUp(ctx, q, code)
		if err != nil || !found {
			return err
		}
		if at.IsZero() {
			at = p.now
		}
		rows, err = rowsAt(ctx, q, p.id, at)
		return err
	})
	if err == nil {
		src, err = sourceOf(rows)
	}
	return src, src != nil && err == nil, kernel.Wrap("load source "+code, err)
}

func (s *Registry) lookUp(ctx context.Context, q kernel.Querier, code string) (p provenance, ok bool, err error) {
	var updated sql.NullInt64
	ok, err = kernel.Found(q.QueryRowContext(ctx, "SELECT id, version, updated_at FROM reg_provenance WHERE provenance_code = ? AND is_active = 1",
		code).Scan(&p.id, &p.version, &updated))
	if err != nil || !ok {
		return p, false, err
	}
	now, err := s.db.ClockOf(ctx, q)
	p.now = sourceNow(now, updated)
	return p, true, err
}

// sourceNow returns the store's clock, but never before the source was last
// applied.
func sourceNow(now time.Time, updated sql.NullInt64) time.Time {
	if last := kernel.Instant(updated); last.After(now) {
		return last
	}
	return now
}

// rowsAt reads all that is in force at an instant, one query a table.
func rowsAt(ctx context.Context, q kernel.Querier, id int64, at time.Time) (all []storedRow, err error) {
	for _, table := range registry.RowTables() {
		rows, err := q.QueryContext(ctx, registrySelect(table)+"active_1 = 'Y' AND effective_from <= ? AND (effective_to IS NULL OR effective_to > ?)",
			id, kernel.Micros(at), kernel.Micros(at))
		if err != nil {
			return nil, err
		}
		if all, err = scanRegistry(rows, table, all); err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, nil // no version is in force: the source's own row is read first
		}
	}
	return all, nil
}

// SourceStamp tells whether a copy of a source is still right; false if the
// source was never applied or is switched off. Who keeps a copy reads the stamp
// before the source: a source applied between the two is then loaded once more,
// and not missed.
func (s *Registry) SourceStamp(ctx context.Context, code string) (stamp registry.Stamp, ok bool, err error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return stamp, false, kernel.Wrap("stamp of source", err)
	}
	var until sql.NullInt64
	ok, err = kernel.Found(s.db.QueryRow(ctx, `SELECT p.version,
  (SELECT MIN(v.effective_from) FROM reg_provenance_version v WHERE v.provenance_id = p.id AND v.active_1 = 'Y' AND v.effective_from > ?)
  FROM reg_provenance p WHERE p.provenance_code = ? AND p.is_active = 1`, kernel.Micros(now), code).Scan(&stamp.Version, &until))
	stamp.Until = kernel.Instant(until)
	return stamp, ok, kernel.Wrap("stamp of source", s.db.Translate(err))
}

// SourceHistory lists the versions of a source, oldest first: those that were,
// are and will be in force, and those that were superseded before they began.
func (s *Registry) SourceHistory(ctx context.Context, code string) (out []registry.SourceVersion, err error) {
	rows, err := s.db.Query(ctx, `SELECT v.effective_from, v.effective_to, v.applied_at, v.actor, v.reason, v.source_fingerprint, v.rows_changed, v.changed_json,
  v.active_1 FROM reg_provenance p JOIN reg_provenance_version v ON v.provenance_id = p.id WHERE p.provenance_code = ? ORDER BY v.effective_from, v.id`, code)
	if err != nil {
		return nil, kernel.Wrap("history of source", s.db.Translate(err))
	}
	err = kernel.Each(rows, func() error {
		var v registry.SourceVersion
		var from, to, applied sql.NullInt64
		var actor, reason, print, changed, active sql.NullString
		if err := rows.Scan(&from, &to, &applied, &actor, &reason, &print, &v.Rows, &changed, &active); err != nil {
			return err
		}
		v.From, v.To, v.AppliedAt, v.Superseded = kernel.Instant(from), kernel.Instant(to), kernel.Instant(applied), !active.Valid
		v.Actor, v.Reason, v.Fingerprint = actor.String, reason.String, print.String
		var list changedJSON
		if changed.Valid {
			if err := json.Unmarshal([]byte(changed.String), &list); err != nil {
				return err
			}
		}
		v.Tables, v.Paths = list.Tables, list.Paths
		out = append(out, v)
		return nil
	})
	return out, kernel.Wrap("history of source", err)
}
