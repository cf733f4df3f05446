package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// RequeueRejects puts open items back: the next update of rejected items reads them
// again. Items that are named are taken all or none; of a source one call takes a
// chunk, and next is the item behind which there may be others; 0: none. Repeating it
// changes nothing (I8).
func (s *Ledger) RequeueRejects(ctx context.Context, pick ingest.RejectPick, by ingest.Act) (done ingest.RejectsDone, next int64, err error) {
	err = s.step(ctx, "requeue rejects", kernel.Bulk, func(t *tx) error {
		done, next, err = t.pickRejects(pick, by, "quarantine.requeue", []ingest.RejectStatus{ingest.RejectOpen}, ingest.RejectRequeued)
		return err
	})
	return done, next, kernel.Performed(err)
}

// DiscardRejects says of items that they are junk. That is for good.
func (s *Ledger) DiscardRejects(ctx context.Context, pick ingest.RejectPick, by ingest.Act) (done ingest.RejectsDone, next int64, err error) {
	err = s.step(ctx, "discard rejects", kernel.Bulk, func(t *tx) error {
		done, next, err = t.pickRejects(pick, by, "quarantine.discard", []ingest.RejectStatus{ingest.RejectOpen, ingest.RejectRequeued}, ingest.RejectDiscarded)
		return err
	})
	return done, next, kernel.Performed(err)
}

// pickRejects moves items from some states into one and leaves that in the audit log.
func (t *tx) pickRejects(pick ingest.RejectPick, by ingest.Act, action string, from []ingest.RejectStatus, to ingest.RejectStatus) (done ingest.RejectsDone, next int64, err error) {
	var ids []int64
	if pick.Named() {
		ids, done.Unchanged, err = t.namedRejects(pick.IDs, from)
	} else {
		ids, next, err = t.fittingRejects(pick, from)
	}
	if done.Changed = len(ids); err != nil || len(ids) == 0 {
		return done, next, err
	}
	if by.Rehearsal {
		return done, next, kernel.ErrRehearsed
	}
	if err := t.ExecIn("UPDATE ing_quarantine SET status_code = ?, updated_at = ? WHERE status_code IN ("+look.StatusList(from)+") AND id IN ", ids, string(to), kernel.Micros(t.Now)); err != nil {
		return done, next, err
	}
	return done, next, t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: action, Object: kernel.Cut(pick.String(), 256), Reason: by.Reason, Detail: map[string]any{"rejects": ids}})
}

// fittingRejects returns the next items of a source that fit, at most a chunk. Each
// dataset and state is a range of one index in the order of ids, and every row of it is
// passed once, however many chunks it takes: nothing is sorted but the chunk.
func (t *tx) fittingRejects(pick ingest.RejectPick, from []ingest.RejectStatus) (ids []int64, next int64, err error) {
	datasets, err := t.IDs("SELECT id FROM ing_dataset WHERE provenance_code = ? AND (? = '' OR endpoint_name = ?)", pick.Dataset.Source, pick.Dataset.Endpoint, pick.Dataset.Endpoint)
	if err != nil {
		return nil, 0, err
	}
	for _, dataset := range datasets {
		for _, status := range from {
			query, args := fittingRejects(t.Dialect().ByIndex, pick, dataset, status)
			some, err := t.IDs(query+t.Dialect().ForUpdate, args...)
			if err != nil {
				return nil, 0, err
			}
			ids = append(ids, some...)
		}
	}
	slices.Sort(ids)
	if len(ids) >= kernel.OperateAtOnce {
		ids = ids[:kernel.OperateAtOnce]
		next = ids[kernel.OperateAtOnce-1]
	}
	return ids, next, nil
}

// fittingRejects names its index: that of reasons and paths looks narrower to a
// planner, and would be sorted again for every chunk. A batch has few rejects.
func fittingRejects(byIndex string, pick ingest.RejectPick, dataset int64, status ingest.RejectStatus) (query string, args []any) {
	from := " FROM ing_quarantine"
	if pick.BatchID == 0 {
		from += fmt.Sprintf(byIndex, "idx_quarantine_order")
	}
	w := &kernel.Where{Terms: []string{"dataset_id = ?", "status_code = ?", "id > ?"}, Args: []any{dataset, string(status), pick.After}}
	w.Add(pick.Reason != "", "reason_code = ?", string(pick.Reason))
	w.Add(pick.Path != "", "path = ?", pick.Path)
	w.Add(pick.BatchID != 0, "batch_id = ?", pick.BatchID)
	return "SELECT id" + from + w.String() + " ORDER BY id LIMIT ?", append(w.Args, kernel.OperateAtOnce)
}

func (t *tx) namedRejects(named []int64, from []ingest.RejectStatus) (ids []int64, others int, err error) {
	for _, id := range slices.Compact(slices.Sorted(slices.Values(named))) {
		var status ingest.RejectStatus
		known, err := kernel.Found(t.Row("SELECT status_code FROM ing_quarantine WHERE id = ?"+t.Dialect().ForUpdate, id).Scan(&status))
		switch {
		case err != nil:
			return nil, 0, err
		case !known:
			return nil, 0, fmt.Errorf("item %d of quarantine: %w", id, fault.ErrNotFound)
		case slices.Contains(from, status):
			ids = append(ids, id)
		default:
			others++
		}
	}
	return ids, others, nil
}

// CountRejects returns how many items of a source fit in some states.
func (s *Ledger) CountRejects(ctx context.Context, pick ingest.RejectPick, statuses ...ingest.RejectStatus) (n int, err error) {
	w := look.RejectsWhere(pick, statuses)
	err = s.db.QueryRow(ctx, "SELECT COUNT(*) FROM ing_quarantine"+w.String(), w.Args...).Scan(&n)
	return n, kernel.Wrap("count rejects", s.db.Translate(err))
}

// RequeuedIn returns the datasets with items that wait to be read again, of a source or
// of all.
func (s *Ledger) RequeuedIn(ctx context.Context, source string) (out []ingest.Dataset, err error) {
	rows, err := s.db.Query(ctx, `SELECT provenance_code, endpoint_name FROM ing_dataset d WHERE (? = '' OR provenance_code = ?)
  AND EXISTS (SELECT 1 FROM ing_quarantine q WHERE q.dataset_id = d.id AND q.status_code = 'REQUEUED') ORDER BY provenance_code, endpoint_name`, source, source)
	if err != nil {
		return nil, kernel.Wrap("list datasets with requeued items", s.db.Translate(err))
	}
	return out, kernel.Wrap("list datasets with requeued items", kernel.Each(rows, func() error {
		var d ingest.Dataset
		err := rows.Scan(&d.Source, &d.Endpoint)
		out = append(out, d)
		return err
	}))
}

func (s *Ledger) countRequeued(ctx context.Context, dataset int64) (out ingest.Candidates, err error) {
	err = s.db.QueryRow(ctx, "SELECT COUNT(*), COALESCE(MIN(id), 0), COALESCE(MAX(id) + 1, 0) FROM ing_quarantine WHERE dataset_id = ? AND status_code = 'REQUEUED'", dataset).
		Scan(&out.Count, &out.From, &out.To)
	out.Exact = true
	return out, err
}

// requeuedLook is how many rejected items one look takes in hand, fewer if they are large:
// each comes with its bytes.
const requeuedLook = 200

const requeuedSQL = `SELECT q.id, COALESCE(q.provider_id, ''), COALESCE(q.judged_batch_id, q.batch_id), q.item_index, q.reason_code, q.raw_hash, q.raw, q.codec,
  q.fetch_at, COALESCE(e.blob_ref, ''), e.request FROM ing_quarantine q LEFT JOIN ing_batch_evidence e ON e.batch_id = COALESCE(q.judged_batch_id, q.batch_id)
  WHERE q.dataset_id = ? AND q.status_code = 'REQUEUED' AND q.id > ? AND q.id < ? ORDER BY q.id LIMIT ?`

// lookAtRequeued reads items that were put back, in the order of the batches that
// rejected them: items of one answer come together.
func (s *Ledger) lookAtRequeued(ctx context.Context, q ingest.CandidateLook) (page ingest.CandidatePage, err error) {
	from, to, err := parseNumbers(q.From, q.To)
	if err != nil {
		return page, err
	}
	after := from - 1
	if q.After != "" {
		if after, err = strconv.ParseInt(q.After, 10, 64); err != nil {
			return page, err
		}
	}
	rows, err := s.db.Query(ctx, requeuedSQL, q.DatasetID, after, to, requeuedLook)
	if err != nil {
		return page, err
	}
	size := 0
	err = kernel.Each(rows, func() error {
		if size > look.RejectBytes {
			return kernel.ErrEnough
		}
		c := ingest.Candidate{Reject: &ingest.Requeued{}}
		var raw []byte
		var codec string
		var fetch sql.NullInt64
		var request sql.NullString
		if err := rows.Scan(&c.Reject.Row, &c.ID, &c.Batch, &c.Reject.Index, &c.Reject.Reason, &c.Reject.Hash, &raw, &codec, &fetch, &c.Raw, &request); err != nil {
			return err
		}
		after, c.FetchAt, c.Reject.Detail = c.Reject.Row, kernel.Instant(fetch), cameAsDetail(request.String)
		c.Reject.Item, err = bodies.OpenReject(c.Reject.Row, raw, codec, c.Reject.Hash)
		page.Found, size = append(page.Found, c), size+len(c.Reject.Item)
		return err
	})
	page.Next, page.Last = strconv.FormatInt(after, 10), len(page.Found) < requeuedLook && err == nil
	if errors.Is(err, kernel.ErrEnough) {
		err = nil
	}
	slices.SortStableFunc(page.Found, func(a, b ingest.Candidate) int { return int(a.Batch - b.Batch) })
	return page, err
}

// cameAsDetail reads from the evidence of a batch which step of its source it was.
func cameAsDetail(request string) bool {
	var evidence struct {
		Context struct {
			Detail bool `json:"detail"`
		} `json:"context"`
	}
	return json.Unmarshal([]byte(request), &evidence) == nil && evidence.Context.Detail
}
