package ledger

import (
	"cmp"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// defaultConcurrency is C_max of a partition that nothing else is said about (§13.1).
const defaultConcurrency = 4

// The rows below are created when first needed. Two creators meet at the unique
// key; the loser's step is redone and finds the winner's row.

func (t *tx) findDataset(d ingest.Dataset) (id int64, err error) {
	ok, err := kernel.Found(t.Row("SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?", d.Source, d.Endpoint).Scan(&id))
	if ok || err != nil {
		return id, err
	}
	return t.Insert("INSERT INTO ing_dataset (provenance_code, endpoint_name, created_at) VALUES (?,?,?)", d.Source, d.Endpoint, kernel.Micros(t.Now))
}

// findPartition finds or makes a partition and sets its C_max and its rate key, which
// a newer snapshot may have changed. What is zero leaves what is there.
func (t *tx) findPartition(p ingest.Partition, dataset int64, limit int, key string) (id int64, err error) {
	ok, err := kernel.Found(t.Row("SELECT id FROM ing_partition WHERE provenance_code = ? AND endpoint_name = ? AND operation_code = ?",
		p.Source, p.Endpoint, string(p.Operation)).Scan(&id))
	switch {
	case err != nil:
		return id, err
	case ok && limit > 0:
		if _, err = t.Exec("UPDATE ing_partition SET max_concurrent = ? WHERE id = ? AND max_concurrent <> ?", limit, id, limit); err != nil {
			return id, err
		}
	}
	if ok {
		if key != "" {
			_, err = t.Exec("UPDATE ing_partition SET rate_key = ? WHERE id = ? AND rate_key <> ?", key, id, key)
		}
		return id, err
	}
	return t.Insert(`INSERT INTO ing_partition (dataset_id, provenance_code, endpoint_name, operation_code, max_concurrent, rate_key, created_at)
  VALUES (?,?,?,?,?,?,?)`, dataset, p.Source, p.Endpoint, string(p.Operation), cmp.Or(limit, defaultConcurrency), cmp.Or(key, p.Source), kernel.Micros(t.Now))
}

func (t *tx) fingerprintID(kind, hash string) (id int64, err error) {
	ok, err := kernel.Found(t.Row("SELECT id FROM ing_fingerprint WHERE kind_code = ? AND hash = ?", kind, hash).Scan(&id))
	if ok || err != nil {
		return id, err
	}
	return t.Insert("INSERT INTO ing_fingerprint (kind_code, hash, created_at) VALUES (?,?,?)", kind, hash, kernel.Micros(t.Now))
}

// storeSnapshot stores a compiled specification once per content (I10).
func (t *tx) storeSnapshot(fingerprint string, spec []byte) error {
	var n int
	ok, err := kernel.Found(t.Row("SELECT 1 FROM ing_spec_snapshot WHERE spec_fingerprint = ?", fingerprint).Scan(&n))
	if ok || err != nil {
		return err
	}
	_, err = t.Exec("INSERT INTO ing_spec_snapshot (spec_fingerprint, snapshot, created_at) VALUES (?,?,?)", fingerprint, string(spec), kernel.Micros(t.Now))
	return err
}

func (t *tx) cursorRow(n ingest.Namespace, endpoint string) (id int64, err error) {
	ok, err := kernel.Found(t.Row(`SELECT id FROM ing_cursor WHERE provenance_code = ? AND operation_code = ? AND cursor_key = ?
  AND namespace_scope_code = ? AND namespace_key = ?`, n.Source, string(n.Operation), n.CursorKey, string(n.Scope), n.Key).Scan(&id))
	if ok || err != nil {
		return id, err
	}
	return t.Insert(`INSERT INTO ing_cursor (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, endpoint_name,
  cursor_type_code, created_at, updated_at) VALUES (?,?,?,?,?,?,?,?,?)`,
		n.Source, string(n.Operation), n.CursorKey, string(n.Scope), n.Key, endpoint, string(n.Line()), kernel.Micros(t.Now), kernel.Micros(t.Now))
}
