package check

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"
)

// Item is one item as the upstream has it.
type Item struct {
	ID      string // as it is stored
	Stamp   time.Time
	Version int64 // of the source; 0 where it has none
}

// Lost is I2 for one endpoint that is read to its end: every item is stored with
// its stamp and version, or is gone, or stands in quarantine; a reject that counts
// as settled excuses nothing. Nothing else may be there that known denies. Set
// aside are items that need not be stored, because an answer broke them so that
// they cannot be told by their id.
func Lost(ctx context.Context, db *sql.DB, source, endpoint string, have []Item, aside func(Item) bool, known func(id string) bool) (problems []string, err error) {
	type head struct {
		at, version int64
		state       string
	}
	stored := map[string]head{}
	const of = "dataset_id = (SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?)"
	err = eachRow(ctx, db, "SELECT provider_id, COALESCE(updated_at, 0), source_version, state_code FROM ing_record WHERE "+of, func(scan func(...any) error) error {
		var id []byte
		var h head
		err := scan(&id, &h.at, &h.version, &h.state)
		stored[string(id)] = h
		return err
	}, source, endpoint)
	if err != nil {
		return nil, err
	}
	rejected := map[string]bool{}
	err = eachRow(ctx, db, "SELECT DISTINCT provider_id FROM ing_quarantine WHERE provider_id IS NOT NULL AND status_code <> 'RESOLVED' AND "+of, func(scan func(...any) error) error {
		var id []byte
		err := scan(&id)
		rejected[string(id)] = true
		return err
	}, source, endpoint)
	if err != nil {
		return nil, err
	}
	for _, item := range have {
		got, ok := stored[item.ID]
		delete(stored, item.ID)
		switch {
		case ok && got.state == "GONE":
		case ok && got.at == item.Stamp.UnixMicro() && got.version == item.Version:
		case rejected[item.ID], aside != nil && aside(item):
		case !ok:
			problems = append(problems, fmt.Sprintf("I2: %s lost %s of %s, version %d", source, item.ID, clockText(item.Stamp.UnixMicro()), item.Version))
		case got.at > item.Stamp.UnixMicro():
			problems = append(problems, fmt.Sprintf("I2: %s has %s of %s, the upstream never went past %s", source, item.ID, clockText(got.at), clockText(item.Stamp.UnixMicro())))
		default:
			problems = append(problems, fmt.Sprintf("I2: %s has %s of %s, version %d; the upstream has %s, version %d",
				source, item.ID, clockText(got.at), got.version, clockText(item.Stamp.UnixMicro()), item.Version))
		}
	}
	for id := range stored {
		if !known(id) {
			problems = append(problems, fmt.Sprintf("I2: %s has %s, which the upstream never had", source, id))
		}
	}
	return problems, nil
}

// Digest is what a database holds besides attempts: heads, bodies, events,
// rejects. It must not change when something is done once more that was done (I8).
func Digest(ctx context.Context, db *sql.DB) (string, error) {
	sum := sha256.New()
	versions, err := readVersions(ctx, db)
	if err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	for _, v := range versions {
		fmt.Fprintln(sum, v.id, v.number, v.before)
	}
	for _, query := range []string{
		"SELECT CONCAT(dataset_id, ' ', HEX(id_hash), ' ', version, ' ', body_id, ' ', COALESCE(updated_at, 0), ' ', HEX(content_hash), ' ', state_code) FROM ing_record ORDER BY dataset_id, id_hash",
		"SELECT CONCAT(id, ' ', HEX(dedup_key), ' ', body_id, ' ', op_type) FROM ing_outbox_message ORDER BY id",
		"SELECT CONCAT(dataset_id, ' ', reject_key) FROM ing_quarantine ORDER BY dataset_id, reject_key",
	} {
		err := eachRow(ctx, db, query, func(scan func(...any) error) error {
			var row string
			err := scan(&row)
			fmt.Fprintln(sum, row)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("digest: %w", err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
