package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
)

// RejectGroups counts items by endpoint, reason, place and state: those nobody has
// decided about, or all. Of a source, or of all if it is empty. The index alone is
// read, and then one item of each group.
func (s *Store) RejectGroups(ctx context.Context, source string, all bool) ([]view.RejectGroup, error) {
	out, err := s.rejectGroups(ctx, source, all)
	if err != nil {
		return nil, wrap("group rejects", s.translate(err))
	}
	for i := range out {
		g := &out[i]
		example, err := s.RejectItem(ctx, g.ExampleID)
		if err != nil && !errors.Is(err, fault.ErrNotFound) {
			return nil, err
		}
		g.FirstSeen, g.Detail, g.Example = example.FirstSeen, example.Detail, string(example.RawBytes)
	}
	return out, nil
}

// RejectGroupsIn is how many groups each dataset has that nobody has decided about.
func (s *Store) RejectGroupsIn(ctx context.Context, source string) (map[ingest.Dataset]int, error) {
	groups, err := s.rejectGroups(ctx, source, false)
	out := map[ingest.Dataset]int{}
	at := map[[4]string]bool{}
	for _, g := range groups { // open and put back are one group
		if place := [4]string{g.Source, g.Endpoint, g.Reason, g.Path}; !at[place] {
			at[place] = true
			out[ingest.Dataset{Source: g.Source, Endpoint: g.Endpoint}]++
		}
	}
	return out, wrap("count groups of rejects", s.translate(err))
}

func (s *Store) rejectGroups(ctx context.Context, source string, all bool) (out []view.RejectGroup, err error) {
	statuses := "'OPEN','REQUEUED'"
	if all {
		statuses += ",'RESOLVED','DISCARDED'"
	}
	rows, err := s.query(ctx, `SELECT d.provenance_code, d.endpoint_name, q.reason_code, COALESCE(q.path, ''), q.status_code, COUNT(*), MIN(q.id), MAX(q.last_seen_at)
  FROM ing_dataset d JOIN ing_quarantine q ON q.dataset_id = d.id AND q.status_code IN (`+statuses+`) WHERE (? = '' OR d.provenance_code = ?)
  GROUP BY d.provenance_code, d.endpoint_name, q.reason_code, COALESCE(q.path, ''), q.status_code ORDER BY 1, 2, 6 DESC, 3, 4, 5`, source, source)
	if err != nil {
		return nil, err
	}
	return out, each(rows, func() error {
		var g view.RejectGroup
		var last sql.NullInt64
		err := rows.Scan(&g.Source, &g.Endpoint, &g.Reason, &g.Path, &g.Status, &g.Count, &g.ExampleID, &last)
		g.LastSeen = instant(last)
		out = append(out, g)
		return err
	})
}

const rejectColumns = `SELECT id, provenance_code, endpoint_name, status_code, COALESCE(provider_id, ''), reason_code, COALESCE(path, ''), COALESCE(detail, ''), item_index,
  created_at, COALESCE(last_seen_at, created_at), seen_count, attempts, COALESCE(note, ''), fetch_at, plan_id, slice_id, task_id, run_id, batch_id, COALESCE(judged_batch_id, 0),
  raw_hash, codec, `

// RejectList lists items in quarantine, oldest first, after one. With their bytes it
// may stop before the limit; none means that there are no more.
func (s *Store) RejectList(ctx context.Context, f view.RejectFilter) (out []view.Reject, err error) {
	var statuses []ingest.RejectStatus
	if f.Status != "" {
		statuses = []ingest.RejectStatus{ingest.RejectStatus(f.Status)}
	}
	w := rejectsWhere(ingest.RejectPick{Dataset: ingest.Dataset{Source: f.Source, Endpoint: f.Endpoint}, Reason: record.Reason(f.Reason), Path: f.Path, BatchID: f.BatchID}, statuses)
	w.add(true, "id > ?", f.After)
	raw := "NULL"
	if f.WithItem {
		raw = "raw"
	}
	ids := "SELECT id FROM ing_quarantine" + w.String() + " ORDER BY id LIMIT ?" // only these are put in order, not what they hold
	rows, err := s.query(ctx, rejectColumns+raw+" FROM ing_quarantine WHERE id IN (SELECT id FROM ("+ids+") page) ORDER BY id", append(w.args, max(f.Limit, 1))...)
	if err != nil {
		return nil, wrap("list rejects", s.translate(err))
	}
	size := 0
	err = each(rows, func() error {
		if size > requeuedBytes {
			return errEnough
		}
		r, err := scanReject(rows)
		out, size = append(out, r), size+len(r.RawBytes)
		return err
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return out, wrap("list rejects", err)
}

// RejectItem reads one item with its bytes.
func (s *Store) RejectItem(ctx context.Context, id int64) (view.Reject, error) {
	rows, err := s.query(ctx, rejectColumns+"raw FROM ing_quarantine WHERE id = ?", id)
	if err != nil {
		return view.Reject{}, wrap("read reject", s.translate(err))
	}
	var out view.Reject
	known := false
	err = each(rows, func() (err error) {
		known = true
		out, err = scanReject(rows)
		return err
	})
	if err == nil && !known {
		err = fmt.Errorf("item %d of quarantine: %w", id, fault.ErrNotFound)
	}
	return out, wrap("read reject", err)
}

func scanReject(rows *sql.Rows) (r view.Reject, err error) {
	var created, last, fetch sql.NullInt64
	var raw []byte
	var codec string
	if err := rows.Scan(&r.ID, &r.Source, &r.Endpoint, &r.Status, &r.ProviderID, &r.Reason, &r.Path, &r.Detail, &r.Index, &created, &last, &r.Seen, &r.Attempts, &r.Note,
		&fetch, &r.PlanID, &r.SliceID, &r.TaskID, &r.RunID, &r.BatchID, &r.JudgedBy, &r.RawHash, &codec, &raw); err != nil {
		return r, err
	}
	r.FirstSeen, r.LastSeen, r.FetchAt = instant(created), instant(last), instant(fetch)
	r.RawBytes, err = openReject(r.ID, raw, codec, r.RawHash)
	return r, err
}

func rejectsWhere(pick ingest.RejectPick, statuses []ingest.RejectStatus) *where {
	w := &where{}
	if d := pick.Dataset; d.Source != "" && d.Endpoint != "" {
		w.terms = append(w.terms, "dataset_id = (SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?)") // one: its index is in the order of ids
		w.args = append(w.args, d.Source, d.Endpoint)
	} else {
		w.add(d.Source != "", "dataset_id IN (SELECT id FROM ing_dataset WHERE provenance_code = ?)", d.Source)
		w.add(d.Endpoint != "", "endpoint_name = ?", d.Endpoint)
	}
	if len(statuses) > 0 {
		w.terms = append(w.terms, "status_code IN ("+statusList(statuses)+")")
	}
	w.add(pick.Reason != "", "reason_code = ?", string(pick.Reason))
	w.add(pick.Path != "", "path = ?", pick.Path)
	w.add(pick.BatchID != 0, "batch_id = ?", pick.BatchID)
	return w
}

// statusList is a list of our own codes for a statement.
func statusList(codes []ingest.RejectStatus) string {
	texts := make([]string, len(codes))
	for i, code := range codes {
		texts[i] = "'" + string(code) + "'"
	}
	return strings.Join(texts, ",")
}
