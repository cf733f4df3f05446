package look

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// RejectBytes is how much one look at rejected items may bring: each comes with its
// bytes.
const RejectBytes = 16 << 20

// RejectGroups counts items by endpoint, reason, place and state: those nobody has
// decided about, or all. Of a source, or of all if it is empty. The index alone is
// read, and then one item of each group.
func (s *Look) RejectGroups(ctx context.Context, source string, all bool) ([]view.RejectGroup, error) {
	statuses := undecided
	if all {
		statuses = append(slices.Clone(statuses), ingest.RejectResolved, ingest.RejectDiscarded)
	}
	out, err := s.rejectGroups(ctx, source, statuses)
	if err != nil {
		return nil, kernel.Wrap("group rejects", s.db.Translate(err))
	}
	for some := range slices.Chunk(out, examplesTogether) {
		if err := s.addExamples(ctx, some); err != nil {
			return nil, kernel.Wrap("group rejects", s.db.Translate(err))
		}
	}
	return out, nil
}

// examplesTogether is how many items one statement reads: each comes with its bytes.
const examplesTogether = 50

// addExamples adds to groups what their first items say. One that is gone meanwhile says nothing.
func (s *Look) addExamples(ctx context.Context, groups []view.RejectGroup) error {
	args := make([]any, len(groups))
	for n, g := range groups {
		args[n] = g.ExampleID
	}
	rows, err := s.db.Query(ctx, rejectColumns+"raw FROM ing_quarantine WHERE id IN ("+kernel.Marks(len(args))+")", args...)
	if err != nil {
		return err
	}
	examples := map[int64]view.Reject{}
	if err := kernel.Each(rows, func() error {
		r, err := scanReject(rows)
		examples[r.ID] = r
		return err
	}); err != nil {
		return err
	}
	for n := range groups {
		g := &groups[n]
		example := examples[g.ExampleID]
		g.FirstSeen, g.Detail, g.Example = example.FirstSeen, example.Detail, string(example.RawBytes)
	}
	return nil
}

// groupRejects adds up the items of one dataset and state by reason and place: that is one stretch of an index in
// the order of the groups, which has all that is asked for. Of several datasets or states a server
// reads the index of all that was ever in quarantine, and sorts.
func groupRejects(byIndex string) string {
	return `SELECT q.dataset_id, q.reason_code, q.path, q.status_code, COUNT(*), MIN(q.id), MAX(q.last_seen_at) FROM ing_quarantine q` + fmt.Sprintf(byIndex, "idx_quarantine_path") + `
  WHERE q.dataset_id = ? AND q.status_code = ? GROUP BY q.reason_code, q.path`
}

// undecided are the states of items that nobody has decided about.
var undecided = []ingest.RejectStatus{ingest.RejectOpen, ingest.RejectRequeued}

// UndecidedRejects returns how many undecided items and groups of them each dataset has, of one source or of
// all; open and put back are one group.
func (s *Look) UndecidedRejects(ctx context.Context, source string) (map[ingest.Dataset]view.RejectCount, error) {
	groups, err := s.rejectGroups(ctx, source, undecided)
	type group struct {
		of           ingest.Dataset
		reason, path string
	}
	known, out := map[group]bool{}, map[ingest.Dataset]view.RejectCount{}
	for _, g := range groups {
		of := ingest.Dataset{Source: g.Source, Endpoint: g.Endpoint}
		count := out[of]
		count.Items += g.Count
		if g.LastSeen.After(count.LastSeen) {
			count.LastSeen = g.LastSeen
		}
		if one := (group{of, g.Reason, g.Path}); !known[one] {
			known[one] = true
			count.Groups++
		}
		out[of] = count
	}
	return out, kernel.Wrap("count rejects", s.db.Translate(err))
}

// rejectGroups adds up items by dataset, reason, place and state, the largest groups of a dataset first.
func (s *Look) rejectGroups(ctx context.Context, source string, statuses []ingest.RejectStatus) (out []view.RejectGroup, err error) {
	lanes, err := s.DatasetLanes(ctx, source)
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(lanes, askedTogether/2) {
		if err := s.groupSome(ctx, some, statuses, &out); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b view.RejectGroup) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Status, b.Status))
	})
	return out, nil
}

// groupSome adds the groups of some datasets.
func (s *Look) groupSome(ctx context.Context, lanes []event.DatasetQueue, statuses []ingest.RejectStatus, out *[]view.RejectGroup) error {
	of, args := map[int64]event.DatasetQueue{}, []any{}
	for _, lane := range lanes {
		of[lane.DatasetID] = lane
		for _, status := range statuses {
			args = append(args, lane.DatasetID, string(status))
		}
	}
	rows, err := s.db.Query(ctx, kernel.UnionOf(groupRejects(s.db.Dialect.ByIndex), len(lanes)*len(statuses)), args...)
	if err != nil {
		return err
	}
	type key struct{ source, endpoint, reason, path, status string }
	at := map[key]int{}
	return kernel.Each(rows, func() error {
		var g view.RejectGroup
		var dataset int64
		var path sql.NullString
		var last sql.NullInt64
		err := rows.Scan(&dataset, &g.Reason, &path, &g.Status, &g.Count, &g.ExampleID, &last)
		g.Source, g.Endpoint, g.Path, g.LastSeen = of[dataset].Source, of[dataset].Endpoint, path.String, kernel.Instant(last)
		same, known := at[key{g.Source, g.Endpoint, g.Reason, g.Path, g.Status}]
		if !known { // no place and an empty one are the same
			at[key{g.Source, g.Endpoint, g.Reason, g.Path, g.Status}] = len(*out)
			*out = append(*out, g)
			return err
		}
		joined := &(*out)[same]
		joined.Count, joined.ExampleID = joined.Count+g.Count, min(joined.ExampleID, g.ExampleID)
		if g.LastSeen.After(joined.LastSeen) {
			joined.LastSeen = g.LastSeen
		}
		return err
	})
}

const rejectColumns = `SELECT id, provenance_code, endpoint_name, status_code, COALESCE(provider_id, ''), reason_code, COALESCE(path, ''), COALESCE(detail, ''), item_index,
  created_at, COALESCE(last_seen_at, created_at), seen_count, attempts, COALESCE(note, ''), fetch_at, plan_id, slice_id, task_id, run_id, batch_id, COALESCE(judged_batch_id, 0),
  raw_hash, codec, `

// RejectList lists items in quarantine, oldest first, after one. With their bytes it
// may stop before the limit; none means that there are no more.
func (s *Look) RejectList(ctx context.Context, f view.RejectFilter) (out []view.Reject, err error) {
	statuses, err := knownStatus(f.Status)
	if err != nil {
		return nil, kernel.Wrap("list rejects", err)
	}
	w := RejectsWhere(ingest.RejectPick{Dataset: ingest.Dataset{Source: f.Source, Endpoint: f.Endpoint}, Reason: record.Reason(f.Reason), Path: f.Path, BatchID: f.BatchID}, statuses)
	w.Add(true, "id > ?", f.After)
	raw := "NULL"
	if f.WithItem {
		raw = "raw"
	}
	ids := "SELECT id FROM ing_quarantine" + w.String() + " ORDER BY id LIMIT ?" // only these are put in order, not what they hold
	rows, err := s.db.Query(ctx, rejectColumns+raw+" FROM ing_quarantine WHERE id IN (SELECT id FROM ("+ids+") page) ORDER BY id", append(w.Args, max(f.Limit, 1))...)
	if err != nil {
		return nil, kernel.Wrap("list rejects", s.db.Translate(err))
	}
	size := 0
	err = kernel.Each(rows, func() error {
		if size > RejectBytes {
			return kernel.ErrEnough
		}
		r, err := scanReject(rows)
		out, size = append(out, r), size+len(r.RawBytes)
		return err
	})
	if errors.Is(err, kernel.ErrEnough) {
		err = nil
	}
	return out, kernel.Wrap("list rejects", err)
}

// knownStatus is the state that a list is narrowed to; none: all. It becomes part of the statement, so
// that the index of what is undecided serves it: a text that is no state of ours goes no further (A24).
func knownStatus(text string) ([]ingest.RejectStatus, error) {
	switch s := ingest.RejectStatus(text); s {
	case "":
		return nil, nil
	case ingest.RejectOpen, ingest.RejectRequeued, ingest.RejectResolved, ingest.RejectDiscarded:
		return []ingest.RejectStatus{s}, nil
	}
	return nil, fmt.Errorf("%w: status: expected %s, %s, %s or %s", fault.ErrInvalid, ingest.RejectOpen, ingest.RejectRequeued, ingest.RejectResolved, ingest.RejectDiscarded)
}

// RejectItem reads one item with its bytes.
func (s *Look) RejectItem(ctx context.Context, id int64) (view.Reject, error) {
	rows, err := s.db.Query(ctx, rejectColumns+"raw FROM ing_quarantine WHERE id = ?", id)
	if err != nil {
		return view.Reject{}, kernel.Wrap("read reject", s.db.Translate(err))
	}
	var out view.Reject
	known := false
	err = kernel.Each(rows, func() (err error) {
		known = true
		out, err = scanReject(rows)
		return err
	})
	if err == nil && !known {
		err = fmt.Errorf("item %d of quarantine: %w", id, fault.ErrNotFound)
	}
	return out, kernel.Wrap("read reject", err)
}

func scanReject(rows *sql.Rows) (r view.Reject, err error) {
	var created, last, fetch sql.NullInt64
	var raw []byte
	var codec string
	if err := rows.Scan(&r.ID, &r.Source, &r.Endpoint, &r.Status, &r.ProviderID, &r.Reason, &r.Path, &r.Detail, &r.Index, &created, &last, &r.Seen, &r.Attempts, &r.Note,
		&fetch, &r.PlanID, &r.SliceID, &r.TaskID, &r.RunID, &r.BatchID, &r.JudgedBy, &r.RawHash, &codec, &raw); err != nil {
		return r, err
	}
	r.FirstSeen, r.LastSeen, r.FetchAt = kernel.Instant(created), kernel.Instant(last), kernel.Instant(fetch)
	r.RawBytes, err = bodies.OpenReject(r.ID, raw, codec, r.RawHash)
	return r, err
}

// RejectsWhere returns the conditions of what an operator picks.
func RejectsWhere(pick ingest.RejectPick, statuses []ingest.RejectStatus) *kernel.Where {
	w := &kernel.Where{}
	if d := pick.Dataset; d.Source != "" && d.Endpoint != "" {
		w.Terms = append(w.Terms, "dataset_id = (SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?)") // one: its index is in the order of ids
		w.Args = append(w.Args, d.Source, d.Endpoint)
	} else {
		w.Add(d.Source != "", "dataset_id IN (SELECT id FROM ing_dataset WHERE provenance_code = ?)", d.Source)
		w.Add(d.Endpoint != "", "endpoint_name = ?", d.Endpoint)
	}
	if len(statuses) > 0 {
		w.Terms = append(w.Terms, "status_code IN ("+StatusList(statuses)+")")
	}
	w.Add(pick.Reason != "", "reason_code = ?", string(pick.Reason))
	w.Add(pick.Path != "", "path = ?", pick.Path)
	w.Add(pick.BatchID != 0, "batch_id = ?", pick.BatchID)
	return w
}

// StatusList returns a list of our own codes for a statement.
func StatusList(codes []ingest.RejectStatus) string {
	texts := make([]string, len(codes))
	for i, code := range codes {
		texts[i] = "'" + string(code) + "'"
	}
	return strings.Join(texts, ",")
}

// newRejects finds when one of the newest rows of a lane of the quarantine came. Only the row
// itself is read, those before it are counted in the index.
const newRejects = `SELECT q.created_at FROM ing_quarantine q
  WHERE q.dataset_id = (SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?) AND q.status_code = 'OPEN' ORDER BY q.id DESC LIMIT 1 OFFSET ?`

// HasNewRejects reports whether so many undecided items of a dataset came into quarantine since
// an instant.
func (s *Look) HasNewRejects(ctx context.Context, d ingest.Dataset, since time.Time, many int) (bool, error) {
	var at int64
	known, err := kernel.Found(s.db.QueryRow(ctx, newRejects, d.Source, d.Endpoint, many-1).Scan(&at))
	return known && at >= since.UnixMicro(), kernel.Wrap("look for new rejects", s.db.Translate(err))
}
