package ledger

import (
	"cmp"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// storedReject is a row of quarantine, as it is after what was decided so far.
type storedReject struct {
	id       int64
	key      string
	provider string
	status   ingest.RejectStatus
	fetchAt  time.Time
}

// storedRejects are the rows that the rejects of a page may be about: those of the
// same item and reason, and those that were put back to be read again.
type storedRejects struct {
	byID       map[int64]*storedReject
	byKey      map[string]*storedReject
	byProvider map[string][]*storedReject // put back, in order of their ids
	writes     rejectWrites
}

// Looks at rows; each ends with a list.
const (
	rejectRows        = "SELECT id, reject_key, provider_id, status_code, fetch_at FROM ing_quarantine WHERE "
	rejectsByKey      = rejectRows + "dataset_id = ? AND reject_key IN "
	rejectsByID       = rejectRows + "status_code = 'REQUEUED' AND id IN "
	rejectsByProvider = rejectRows + "dataset_id = ? AND status_code = 'REQUEUED' AND provider_id IN "
)

// storedRejects reads and locks them, with a question for many rejects.
func (t *tx) storedRejects(in ingest.BatchCommit, rejects []preparedReject) (*storedRejects, error) {
	keys, rows, providers := map[string]any{}, map[int64]any{}, map[string]any{}
	for _, r := range rejects {
		keys[r.key] = r.key
		switch {
		case r.Row != 0:
			rows[r.Row] = r.Row
		case in.Refreshed != nil && r.ProviderID != "":
			providers[r.ProviderID] = r.ProviderID
		}
	}
	out := &storedRejects{byID: map[int64]*storedReject{}, byKey: map[string]*storedReject{}, byProvider: map[string][]*storedReject{}}
	if err := t.rejectsIn(rejectsByKey, inOrder(keys), []any{in.DatasetID}, out.addRow); err != nil {
		return nil, err
	}
	if err := t.rejectsIn(rejectsByID, inOrder(rows), nil, out.addRow); err != nil {
		return nil, err
	}
	err := t.rejectsIn(rejectsByProvider, inOrder(providers), []any{in.DatasetID}, func(r storedReject) {
		out.byProvider[r.provider] = append(out.byProvider[r.provider], out.rowOf(r))
	})
	for _, found := range out.byProvider {
		slices.SortFunc(found, func(a, b *storedReject) int { return cmp.Compare(a.id, b.id) })
	}
	return out, err
}

// inOrder returns values in the order of their keys: one lock order for all workers.
func inOrder[K string | int64](values map[K]any) (out []any) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = append(out, values[key])
	}
	return out
}

func (t *tx) rejectsIn(query string, values, args []any, take func(storedReject)) error {
	for chunk := range slices.Chunk(values, kernel.ListSizes[len(kernel.ListSizes)-1]) {
		fits, _ := slices.BinarySearch(kernel.ListSizes, len(chunk))
		list := slices.Clone(args)
		for i := range kernel.ListSizes[fits] { // padded as in look.ReadHeads
			list = append(list, chunk[min(i, len(chunk)-1)])
		}
		rows, err := t.Query(query+"(?"+strings.Repeat(",?", kernel.ListSizes[fits]-1)+")"+t.Dialect().ForUpdate, list...)
		if err != nil {
			return err
		}
		err = kernel.Each(rows, func() error {
			var r storedReject
			var provider sql.NullString
			var fetch sql.NullInt64
			if err := rows.Scan(&r.id, &r.key, &provider, &r.status, &fetch); err != nil {
				return err
			}
			r.provider, r.fetchAt = provider.String, kernel.Instant(fetch)
			take(r)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *storedRejects) addRow(r storedReject) { s.rowOf(r) }

// rowOf returns the one of that id: what is decided about it must be seen from all
// sides.
func (s *storedRejects) rowOf(r storedReject) *storedReject {
	if known := s.byID[r.id]; known != nil {
		return known
	}
	s.byID[r.id], s.byKey[r.key] = &r, &r
	return &r
}

// countKnown counts the rejects that stand in quarantine as they are: of the same item,
// for the same reason, neither settled by a record that was stored since nor put back
// to be read again.
func (s *storedRejects) countKnown(rejects []preparedReject) (n int) {
	for _, r := range rejects {
		if row := s.byKey[r.key]; row != nil && (row.status == ingest.RejectOpen || row.status == ingest.RejectDiscarded) {
			n++
		}
	}
	return n
}

// putBack returns the rows that were to be read again and led to this reject: the one
// it was read from, or those of the record that was asked for.
func (s *storedRejects) putBack(in ingest.BatchCommit, r preparedReject) (out []*storedReject) {
	var candidates []*storedReject
	switch {
	case r.Row != 0:
		if row := s.byID[r.Row]; row != nil {
			candidates = []*storedReject{row}
		}
	case in.Refreshed != nil && r.ProviderID != "":
		candidates = s.byProvider[r.ProviderID]
	}
	for _, row := range candidates {
		if row.status == ingest.RejectRequeued {
			out = append(out, row)
		}
	}
	return out
}

// setStatus changes the state of rows by a statement that ends with their ids.
func (s *storedRejects) setStatus(t *tx, status ingest.RejectStatus, rows []*storedReject, query string, args ...any) error {
	write := rejectWrite{query: query, n: len(args)}
	copy(write.args[:], args)
	for _, row := range rows {
		if err := s.writes.flushBefore(t, row.id); err != nil {
			return err
		}
		row.status = status
		s.writes.addWrite(write, row.id)
	}
	return nil
}

// rejectWrite is a statement and what it writes, whatever the rows: up to four texts
// and numbers, by which equal ones find each other.
type rejectWrite struct {
	query string
	args  [4]any
	n     int
}

// rejectWrites are changes of rows that wait for others alike.
type rejectWrites struct {
	order []rejectWrite
	ids   map[rejectWrite][]int64
	rows  map[int64]bool
}

func (w *rejectWrites) addWrite(write rejectWrite, id int64) {
	if w.ids == nil {
		w.ids, w.rows = map[rejectWrite][]int64{}, map[int64]bool{}
	}
	if len(w.ids[write]) == 0 {
		w.order = append(w.order, write)
	}
	w.ids[write], w.rows[id] = append(w.ids[write], id), true
}

// flushBefore makes sure that what happens to a row happens in order.
func (w *rejectWrites) flushBefore(t *tx, id int64) error {
	if !w.rows[id] {
		return nil
	}
	return w.flushWrites(t)
}

func (w *rejectWrites) flushWrites(t *tx) error {
	for _, write := range w.order {
		if err := t.ExecIn(write.query, w.ids[write], write.args[:write.n]...); err != nil {
			return err
		}
	}
	*w = rejectWrites{}
	return nil
}
