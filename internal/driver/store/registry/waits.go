package registry

import (
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// reckonWaits computes anew what waits for limits of our own after a source file
// has changed (D§5.31): the file may have lifted a quota, or moved the source to
// another rate key. What still has to wait is put back again by the gate. A pause
// that the upstream asked for stays.
func (t *tx) reckonWaits(src *registry.Source) error {
	rows, err := t.Query("SELECT id, endpoint_name, operation_code, rate_key FROM ing_partition WHERE provenance_code = ?", src.Code)
	if err != nil {
		return err
	}
	type partition struct {
		id                       int64
		endpoint, operation, key string
	}
	var all []partition
	if err := kernel.Each(rows, func() error {
		var p partition
		err := rows.Scan(&p.id, &p.endpoint, &p.operation, &p.key)
		all = append(all, p)
		return err
	}); err != nil {
		return err
	}
	for _, p := range all {
		key := p.key
		if r, err := registry.Resolve(src, p.endpoint, p.operation, nil); err == nil { // else the endpoint is gone, or does not do that any more
			key = r.Rate.Key(src.Code)
		}
		if _, err := t.Exec(`UPDATE ing_task SET scheduled_at = ?, wait_code = NULL, updated_at = ? WHERE status_code = 'SCHEDULED' AND partition_id = ?
  AND scheduled_at > ? AND wait_code IN (?,?,?)`, append([]any{kernel.Micros(t.Now), kernel.Micros(t.Now), p.id, kernel.Micros(t.Now)}, look.OwnWaits()...)...); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE ing_partition SET rate_key = ?, cooling_until = CASE WHEN cooling_code IN (?,?,?) THEN NULL ELSE cooling_until END,
  cooling_code = CASE WHEN cooling_code IN (?,?,?) THEN NULL ELSE cooling_code END WHERE id = ?`, append(append([]any{key}, append(look.OwnWaits(), look.OwnWaits()...)...), p.id)...); err != nil {
			return err
		}
	}
	return nil
}
