package registry

import (
	"context"
	"database/sql"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// LoadedSource is a source as it is now, or why it cannot be read.
type LoadedSource struct {
	Source *registry.Source // nil if no version is in force, or with Err
	Err    error
}

// loadedAtOnce is how many sources one set of queries reads.
const loadedAtOnce = 200

// LoadSources reads many sources at once, one query a table instead of one for each source.
// Those that are not applied are left out. One that cannot be read does not keep the others
// from being read.
func (s *Registry) LoadSources(ctx context.Context, codes []string) (map[string]LoadedSource, error) {
	out := map[string]LoadedSource{}
	for some := range slices.Chunk(codes, loadedAtOnce) {
		if err := s.loadSome(ctx, some, out); err != nil {
			return nil, kernel.Wrap("load sources", err)
		}
	}
	return out, nil
}

func (s *Registry) loadSome(ctx context.Context, codes []string, out map[string]LoadedSource) error {
	var known map[int64]manyProvenance
	var rows map[int64][]storedRow
	err := s.db.ReadView(ctx, func(q kernel.Querier) (err error) {
		if known, err = s.lookUpMany(ctx, q, codes); err == nil && len(known) > 0 {
			rows, err = rowsOfMany(ctx, q, known)
		}
		return err
	})
	if err != nil {
		return err
	}
	buildSources(known, rows, out)
	return nil
}

// buildSources makes the sources of their rows, as many at once as there are processors: that
// takes as long as reading them.
func buildSources(known map[int64]manyProvenance, rows map[int64][]storedRow, out map[string]LoadedSource) {
	var all sync.WaitGroup
	var mu sync.Mutex
	ids := make(chan int64)
	for range min(len(known), runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for id := range ids {
				src, err := sourceOf(rows[id])
				if err != nil {
					src, err = nil, kernel.Wrap("load source "+known[id].code, err)
				}
				mu.Lock()
				out[known[id].code] = LoadedSource{src, err}
				mu.Unlock()
			}
		})
	}
	for id := range known {
		ids <- id
	}
	close(ids)
	all.Wait()
}

// manyProvenance is one of the sources that are read together.
type manyProvenance struct {
	code string
	now  time.Time // at which it is read
}

func (s *Registry) lookUpMany(ctx context.Context, q kernel.Querier, codes []string) (map[int64]manyProvenance, error) {
	now, err := s.db.ClockOf(ctx, q)
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, "SELECT id, provenance_code, updated_at FROM reg_provenance WHERE is_active = 1 AND provenance_code IN ("+kernel.Marks(len(codes))+")", anyOf(codes)...)
	if err != nil {
		return nil, err
	}
	out := map[int64]manyProvenance{}
	return out, kernel.Each(rows, func() error {
		var id int64
		var p manyProvenance
		var updated sql.NullInt64
		err := rows.Scan(&id, &p.code, &updated)
		p.now = sourceNow(now, updated)
		out[id] = p
		return err
	})
}

// rowsOfMany reads all that is in force of the sources, one query a table.
func rowsOfMany(ctx context.Context, q kernel.Querier, known map[int64]manyProvenance) (map[int64][]storedRow, error) {
	var ids []int64
	first, last := time.Time{}, time.Time{}
	for id, p := range known {
		ids = append(ids, id)
		if first.IsZero() || p.now.Before(first) {
			first = p.now
		}
		if p.now.After(last) {
			last = p.now
		}
	}
	slices.Sort(ids)
	args := append(anyOf(ids), kernel.Micros(last), kernel.Micros(first))
	out := map[int64][]storedRow{}
	for _, table := range registry.RowTables() {
		rows, err := q.QueryContext(ctx, registryColumns(table)+" WHERE provenance_id IN ("+kernel.Marks(len(ids))+
			") AND active_1 = 'Y' AND effective_from <= ? AND (effective_to IS NULL OR effective_to > ?)", args...)
		if err != nil {
			return nil, err
		}
		all, err := scanRegistry(rows, table, nil)
		if err != nil {
			return nil, err
		}
		for _, r := range all {
			// A source whose own row, which is read first, is not in force has no version.
			if r.inForce(known[r.of].now) && (table == registry.SourceTable || len(out[r.of]) > 0) {
				out[r.of] = append(out[r.of], r)
			}
		}
	}
	return out, nil
}

// anyOf makes arguments of values.
func anyOf[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// SourceStamps tells of all applied sources what SourceStamp tells of one.
func (s *Registry) SourceStamps(ctx context.Context) (map[string]registry.Stamp, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, kernel.Wrap("stamps of sources", err)
	}
	rows, err := s.db.Query(ctx, `SELECT p.provenance_code, p.version,
  (SELECT MIN(v.effective_from) FROM reg_provenance_version v WHERE v.provenance_id = p.id AND v.active_1 = 'Y' AND v.effective_from > ?)
  FROM reg_provenance p WHERE p.is_active = 1`, kernel.Micros(now))
	if err != nil {
		return nil, kernel.Wrap("stamps of sources", s.db.Translate(err))
	}
	out := map[string]registry.Stamp{}
	return out, kernel.Wrap("stamps of sources", kernel.Each(rows, func() error {
		var code string
		var stamp registry.Stamp
		var until sql.NullInt64
		err := rows.Scan(&code, &stamp.Version, &until)
		stamp.Until = kernel.Instant(until)
		out[code] = stamp
		return err
	}))
}
