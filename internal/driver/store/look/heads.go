package look

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// ReadHeads reads the stored heads of what key tells of each item, in the order that
// ask gives them.
func ReadHeads[T any](dataset int64, items []T, key func(*T) *record.Key, ask func(query string, args ...any) (*sql.Rows, error)) (map[record.Key]*record.Head, error) {
	stored := make(map[record.Key]*record.Head, len(items))
	for chunk := range slices.Chunk(items, kernel.ListSizes[len(kernel.ListSizes)-1]) {
		fits, _ := slices.BinarySearch(kernel.ListSizes, len(chunk))
		args := make([]any, 0, kernel.ListSizes[fits]+1)
		args = append(args, dataset)
		for i := range kernel.ListSizes[fits] { // padded with the last key
			args = append(args, key(&chunk[min(i, len(chunk)-1)])[:])
		}
		rows, err := ask(headsQuery[fits], args...)
		if err != nil {
			return nil, err
		}
		err = kernel.Each(rows, func() error {
			var h record.Head
			var key, content []byte
			var updated, fetch, missing sql.NullInt64
			var state string
			err := rows.Scan(&key, &h.ProviderID, &updated, &h.SourceVersion, &content, &fetch, &h.Version, &h.BodyID, &state, &h.MappingID, &missing)
			if err != nil {
				return err
			}
			h.UpdatedAt, h.FetchAt, h.MissingSince, h.State = kernel.Instant(updated), kernel.Instant(fetch), kernel.Instant(missing), record.State(state)
			h.ContentHash = record.StoredDigest(content)
			stored[record.Key(key)] = &h
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return stored, nil
}

// headsQuery has a text for each of ListSizes.
var headsQuery = func() (out []string) {
	for _, n := range kernel.ListSizes {
		out = append(out, `SELECT id_hash, provider_id, updated_at, source_version, content_hash, fetch_at, version, body_id, state_code, mapping_id, missing_since
  FROM ing_record WHERE dataset_id = ? AND id_hash IN (`+strings.TrimSuffix(strings.Repeat("?,", n), ",")+") ORDER BY id_hash")
	}
	return out
}()

// HeadsOfBodies reads the heads of versions, by dataset and key.
func (s *Look) HeadsOfBodies(ctx context.Context, page []bodies.Stored) (map[int64]map[record.Key]*record.Head, error) {
	of := map[int64][]record.Key{}
	for i := range page {
		of[page[i].Dataset] = append(of[page[i].Dataset], page[i].Record)
	}
	out := map[int64]map[record.Key]*record.Head{}
	for dataset, keys := range of {
		heads, err := ReadHeads(dataset, keys, func(k *record.Key) *record.Key { return k }, s.db.Ask(ctx))
		if err != nil {
			return nil, err
		}
		out[dataset] = heads
	}
	return out, nil
}
