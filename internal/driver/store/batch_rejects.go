package store

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
)

// insertRejects keeps what could not be stored. The same item rejected for the same
// reason is one row, however often it comes (I8).
func (t *tx) insertRejects(in ingest.BatchCommit, batchID int64, rejects []preparedReject) error {
	var rows [][]any
	seen := map[string]bool{}
	for _, r := range rejects {
		if r.FetchAt.IsZero() {
			r.FetchAt = t.now
		}
		known, err := t.knownReject(in.DatasetID, r.key)
		if err != nil {
			return err
		}
		if seen[r.key] && r.Row == 0 {
			continue
		}
		done, err := t.rejectAgain(in, batchID, r, known)
		if err != nil {
			return err
		}
		seen[r.key] = true
		if done {
			continue
		}
		rows = append(rows, []any{
			in.DatasetID, r.key, in.Partition.Source, in.Partition.Endpoint, in.Lineage.PlanID, in.Lineage.SliceID, in.Lease.TaskID, in.Lineage.RunID, batchID,
			r.Index, orNull(r.ProviderID), string(r.Reason), orNull(cut(r.Path, 512)), orNull(cut(r.Detail, 2000)), r.rawHash, r.raw, r.codec, string(ingest.RejectOpen),
			micros(t.now), micros(t.now), micros(r.FetchAt), micros(t.now),
		})
	}
	return t.insertMany("ing_quarantine", `dataset_id, reject_key, provenance_code, endpoint_name, plan_id, slice_id, task_id, run_id, batch_id, item_index,
  provider_id, reason_code, path, detail, raw_hash, raw, codec, status_code, created_at, updated_at, fetch_at, last_seen_at`, 22, rows)
}

// storedReject is a row of quarantine.
type storedReject struct {
	id      int64
	status  ingest.RejectStatus
	fetchAt time.Time
}

func (t *tx) knownReject(dataset int64, key string) (*storedReject, error) {
	var r storedReject
	var fetch sql.NullInt64
	known, err := found(t.row("SELECT id, status_code, fetch_at FROM ing_quarantine WHERE dataset_id = ? AND reject_key = ?"+t.store.dialect.ForUpdate, dataset, key).
		Scan(&r.id, &r.status, &fetch))
	if !known || err != nil {
		return nil, err
	}
	r.fetchAt = instant(fetch)
	return &r, nil
}

// rejectAgain writes what became of rows that the reject is about, and reports
// whether it needs no row of its own.
func (t *tx) rejectAgain(in ingest.BatchCommit, batchID int64, r preparedReject, known *storedReject) (done bool, err error) {
	about, err := t.putBack(in, r)
	if err != nil {
		return false, err
	}
	if r.Reason.WithoutItem() && len(about) > 0 { // nothing came: what was rejected then stays as it is
		return true, t.execIn("UPDATE ing_quarantine SET status_code = 'OPEN', attempts = attempts + 1, note = ?, updated_at = ? WHERE status_code = 'REQUEUED' AND id IN ",
			about, cut(fmt.Sprintf("read again: %s: %s", r.Reason, r.Detail), 512), micros(t.now))
	}
	if known != nil {
		if err := t.seenAgain(r, known, about); err != nil {
			return false, err
		}
		return true, t.carriedOn(known.id, without(about, known.id), batchID)
	}
	if len(about) == 0 {
		return false, nil
	}
	_, err = t.exec(`UPDATE ing_quarantine SET status_code = 'OPEN', attempts = attempts + 1, note = NULL, reject_key = ?, item_index = ?, provider_id = ?, reason_code = ?,
  path = ?, detail = ?, raw_hash = ?, raw = ?, codec = ?, judged_batch_id = ?, fetch_at = ?, last_seen_at = ?, updated_at = ? WHERE status_code = 'REQUEUED' AND id = ?`,
		r.key, r.Index, orNull(r.ProviderID), string(r.Reason), orNull(cut(r.Path, 512)), orNull(cut(r.Detail, 2000)), r.rawHash, r.raw, r.codec, batchID,
		micros(r.FetchAt), micros(t.now), micros(t.now), about[0])
	if err != nil {
		return false, err
	}
	return true, t.carriedOn(about[0], about[1:], batchID)
}

// putBack are the rows that were to be read again and led to this reject: the one
// it was read from, or those of the record that was asked for.
func (t *tx) putBack(in ingest.BatchCommit, r preparedReject) ([]int64, error) {
	switch {
	case r.Row != 0:
		return t.ids("SELECT id FROM ing_quarantine WHERE id = ? AND status_code = 'REQUEUED'"+t.store.dialect.ForUpdate, r.Row)
	case in.Refreshed == nil || r.ProviderID == "":
		return nil, nil
	}
	return t.ids("SELECT id FROM ing_quarantine WHERE dataset_id = ? AND provider_id = ? AND status_code = 'REQUEUED' ORDER BY id"+t.store.dialect.ForUpdate, in.DatasetID, r.ProviderID)
}

// seenAgain notes that an item came once more, or that it was read again and is no
// better. about are the rows it was read from.
func (t *tx) seenAgain(r preparedReject, known *storedReject, about []int64) error {
	if slices.Contains(about, known.id) {
		return t.execOne("UPDATE ing_quarantine SET status_code = 'OPEN', attempts = attempts + 1, note = NULL, detail = ?, updated_at = ? WHERE id = ?",
			orNull(cut(r.Detail, 2000)), micros(t.now), known.id)
	}
	status := known.status
	if r.FetchAt.After(known.fetchAt) || len(about) > 0 { // an answer that arrives late is no news, but who stands for an open row is open
		status = status.RejectedAgain()
	}
	latest := r.FetchAt
	if known.fetchAt.After(latest) {
		latest = known.fetchAt
	}
	return t.execOne("UPDATE ing_quarantine SET status_code = ?, seen_count = seen_count + 1, last_seen_at = ?, fetch_at = ?, updated_at = ? WHERE id = ?",
		string(status), micros(t.now), micros(latest), micros(t.now), known.id)
}

// carriedOn settles rows whose item another row stands for now.
func (t *tx) carriedOn(by int64, rows []int64, batchID int64) error {
	return t.execIn("UPDATE ing_quarantine SET status_code = 'RESOLVED', attempts = attempts + 1, judged_batch_id = ?, note = ?, updated_at = ? WHERE status_code = 'REQUEUED' AND id IN ",
		rows, batchID, fmt.Sprintf("the same item stands in quarantine as %d", by), micros(t.now))
}

func without(ids []int64, id int64) []int64 {
	return slices.DeleteFunc(slices.Clone(ids), func(other int64) bool { return other == id })
}

// judgeRejects closes rows that an update read again: those whose record is in the
// batch, and those that nobody can read.
func (t *tx) judgeRejects(in ingest.BatchCommit, batchID int64) error {
	r := in.Refreshed
	if err := t.execIn("UPDATE ing_quarantine SET status_code = 'RESOLVED', attempts = attempts + 1, judged_batch_id = ?, note = NULL, updated_at = ? WHERE status_code = 'REQUEUED' AND id IN ",
		slices.Sorted(slices.Values(r.Rows)), batchID, micros(t.now)); err != nil {
		return err
	}
	return t.execIn("UPDATE ing_quarantine SET status_code = 'OPEN', attempts = attempts + 1, note = ?, updated_at = ? WHERE status_code = 'REQUEUED' AND id IN ",
		slices.Sorted(slices.Values(r.Unread)), cut(r.Why, 512), micros(t.now))
}

// resolveRejects settles rows by an answer that was asked for at an instant. A row
// that another page rejected since it was read may be about a later answer by now.
func (t *tx) resolveRejects(ids []int64, batchID int64, asked time.Time) error {
	return t.execIn(`UPDATE ing_quarantine SET status_code = 'RESOLVED', judged_batch_id = ?, note = NULL, updated_at = ?
  WHERE status_code IN ('OPEN','REQUEUED') AND COALESCE(fetch_at, 0) < ? AND id IN `, ids, batchID, micros(t.now), micros(asked))
}

// providersPer is how many ids one look at the rejects of records takes.
const providersPer = 100

var rejectsOfQuery = "SELECT id, provider_id, fetch_at FROM ing_quarantine WHERE dataset_id = ? AND status_code IN ('OPEN','REQUEUED') AND provider_id IN (" +
	strings.TrimSuffix(strings.Repeat("?,", providersPer), ",") + ")"

// settleRejects closes the rejects of records that came well since, by a harvest
// too: what was rejected is an older version then, and nobody needs it any more.
func (t *tx) settleRejects(in ingest.BatchCommit, batchID int64, items []preparedRecord, stored map[record.Key]*record.Head) error {
	settled := map[int64][]int64{} // by the instant that the record was asked for
	for chunk := range slices.Chunk(items, providersPer) {
		came := make(map[string]*preparedRecord, len(chunk))
		args := make([]any, 1, providersPer+1)
		args[0] = in.DatasetID
		for i := range providersPer {
			item := &chunk[min(i, len(chunk)-1)]
			came[item.ProviderID], args = item, append(args, item.ProviderID)
		}
		rows, err := t.query(rejectsOfQuery, args...)
		if err != nil {
			return err
		}
		err = each(rows, func() error {
			var id int64
			var provider string
			var fetch sql.NullInt64
			err := rows.Scan(&id, &provider, &fetch)
			item := came[provider]
			if err == nil && item != nil && item.FetchAt.After(instant(fetch)) && record.Decide(stored[item.key], item.Incoming) != record.Stale {
				settled[item.FetchAt.UnixMicro()] = append(settled[item.FetchAt.UnixMicro()], id)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, asked := range slices.Sorted(maps.Keys(settled)) {
		if err := t.resolveRejects(slices.Sorted(slices.Values(settled[asked])), batchID, time.UnixMicro(asked)); err != nil {
			return err
		}
	}
	return nil
}
