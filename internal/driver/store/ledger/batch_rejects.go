package ledger

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// insertRejects keeps what could not be stored. The same item rejected for the same
// reason is one row, however often it comes (I8). What is stored of all of them is
// read at once, and what becomes of many rows alike is written at once: a page may
// have a thousand. Known is how many of them are no news.
func (t *tx) insertRejects(in ingest.BatchCommit, batchID int64, rejects []preparedReject) (known int, err error) {
	if len(rejects) == 0 {
		return 0, nil
	}
	stored, err := t.storedRejects(in, rejects)
	if err != nil {
		return 0, err
	}
	known = stored.countKnown(rejects)
	var rows [][]any
	seen, fresh := map[string]bool{}, map[string]bool{}
	for _, r := range rejects {
		if r.FetchAt.IsZero() {
			r.FetchAt = t.Now
		}
		if seen[r.key] && r.Row == 0 {
			continue
		}
		seen[r.key] = true
		done, err := t.rejectAgain(in, batchID, r, stored)
		if err != nil {
			return 0, err
		}
		if done || fresh[r.key] {
			continue
		}
		fresh[r.key] = true
		rows = append(rows, []any{
			in.DatasetID, r.key, in.Partition.Source, in.Partition.Endpoint, in.Lineage.PlanID, in.Lineage.SliceID, in.Lease.TaskID, in.Lineage.RunID, batchID,
			r.Index, kernel.OrNull(r.ProviderID), string(r.Reason), kernel.OrNull(kernel.Cut(r.Path, 512)), kernel.OrNull(kernel.Cut(r.Detail, 2000)), r.rawHash, r.raw, r.codec, string(ingest.RejectOpen),
			kernel.Micros(t.Now), kernel.Micros(t.Now), kernel.Micros(r.FetchAt), kernel.Micros(t.Now),
		})
	}
	if err := stored.writes.flushWrites(t); err != nil {
		return 0, err
	}
	// The same item behind it may have been read from a row, which stands for both then.
	rows = slices.DeleteFunc(rows, func(row []any) bool { return stored.byKey[row[1].(string)] != nil })
	return known, t.InsertMany("ing_quarantine", `dataset_id, reject_key, provenance_code, endpoint_name, plan_id, slice_id, task_id, run_id, batch_id, item_index,
  provider_id, reason_code, path, detail, raw_hash, raw, codec, status_code, created_at, updated_at, fetch_at, last_seen_at`, 22, rows)
}

// rejectAgain decides what becomes of rows that the reject is about, and reports
// whether it needs no row of its own.
func (t *tx) rejectAgain(in ingest.BatchCommit, batchID int64, r preparedReject, stored *storedRejects) (done bool, err error) {
	about, known := stored.putBack(in, r), stored.byKey[r.key]
	switch {
	case r.Reason.WithoutItem() && len(about) > 0: // nothing came: what was rejected then stays as it is
		return true, stored.setStatus(t, ingest.RejectOpen, about, rejectOpened, kernel.Cut(fmt.Sprintf("read again: %s: %s", r.Reason, r.Detail), 512), kernel.Micros(t.Now))
	case known != nil:
		if err := t.seenAgain(r, known, about, stored); err != nil {
			return false, err
		}
		return true, t.carriedOn(known, withoutRow(about, known), batchID, stored)
	case len(about) == 0:
		return false, nil
	}
	if err := t.rewriteReject(about[0], r, batchID, stored); err != nil {
		return false, err
	}
	return true, t.carriedOn(about[0], about[1:], batchID, stored)
}

const rejectOpened = "UPDATE ing_quarantine SET status_code = 'OPEN', attempts = attempts + 1, note = ?, updated_at = ? WHERE status_code = 'REQUEUED' AND id IN "

// rewriteReject makes a row that was read again say what is wrong with its item today.
func (t *tx) rewriteReject(row *storedReject, r preparedReject, batchID int64, stored *storedRejects) error {
	if err := stored.writes.flushBefore(t, row.id); err != nil {
		return err
	}
	_, err := t.Exec(`UPDATE ing_quarantine SET status_code = 'OPEN', attempts = attempts + 1, note = NULL, reject_key = ?, item_index = ?, provider_id = ?, reason_code = ?,
  path = ?, detail = ?, raw_hash = ?, raw = ?, codec = ?, judged_batch_id = ?, fetch_at = ?, last_seen_at = ?, updated_at = ? WHERE status_code = 'REQUEUED' AND id = ?`,
		r.key, r.Index, kernel.OrNull(r.ProviderID), string(r.Reason), kernel.OrNull(kernel.Cut(r.Path, 512)), kernel.OrNull(kernel.Cut(r.Detail, 2000)), r.rawHash, r.raw, r.codec, batchID,
		kernel.Micros(r.FetchAt), kernel.Micros(t.Now), kernel.Micros(t.Now), row.id)
	delete(stored.byKey, row.key)
	row.key, row.status, row.fetchAt = r.key, ingest.RejectOpen, r.FetchAt
	stored.byKey[row.key] = row
	return err
}

// seenAgain notes that an item came once more, or that it was read again and is no
// better. about are the rows it was read from.
func (t *tx) seenAgain(r preparedReject, known *storedReject, about []*storedReject, stored *storedRejects) error {
	row := []*storedReject{known}
	if slices.Contains(about, known) {
		return stored.setStatus(t, ingest.RejectOpen, row,
			"UPDATE ing_quarantine SET status_code = 'OPEN', attempts = attempts + 1, note = NULL, detail = ?, updated_at = ? WHERE id IN ", kernel.OrNull(kernel.Cut(r.Detail, 2000)), kernel.Micros(t.Now))
	}
	status := known.status
	if r.FetchAt.After(known.fetchAt) || len(about) > 0 { // an answer that arrives late is no news, but who stands for an open row is open
		status = status.RejectedAgain()
	}
	if r.FetchAt.After(known.fetchAt) {
		known.fetchAt = r.FetchAt
	}
	return stored.setStatus(t, status, row, "UPDATE ing_quarantine SET status_code = ?, seen_count = seen_count + 1, last_seen_at = ?, fetch_at = ?, updated_at = ? WHERE id IN ",
		string(status), kernel.Micros(t.Now), kernel.Micros(known.fetchAt), kernel.Micros(t.Now))
}

// carriedOn settles rows whose item another row stands for now.
func (t *tx) carriedOn(by *storedReject, rows []*storedReject, batchID int64, stored *storedRejects) error {
	return stored.setStatus(t, ingest.RejectResolved, rows,
		"UPDATE ing_quarantine SET status_code = 'RESOLVED', attempts = attempts + 1, judged_batch_id = ?, note = ?, updated_at = ? WHERE status_code = 'REQUEUED' AND id IN ",
		batchID, fmt.Sprintf("the same item stands in quarantine as %d", by.id), kernel.Micros(t.Now))
}

func withoutRow(rows []*storedReject, row *storedReject) []*storedReject {
	return slices.DeleteFunc(slices.Clone(rows), func(other *storedReject) bool { return other == row })
}

// judgeRejects closes rows that an update read again: those whose record is in the
// batch, and those that nobody can read.
func (t *tx) judgeRejects(in ingest.BatchCommit, batchID int64) error {
	r := in.Refreshed
	if err := t.ExecIn("UPDATE ing_quarantine SET status_code = 'RESOLVED', attempts = attempts + 1, judged_batch_id = ?, note = NULL, updated_at = ? WHERE status_code = 'REQUEUED' AND id IN ",
		slices.Sorted(slices.Values(r.Rows)), batchID, kernel.Micros(t.Now)); err != nil {
		return err
	}
	return t.ExecIn(rejectOpened, slices.Sorted(slices.Values(r.Unread)), kernel.Cut(r.Why, 512), kernel.Micros(t.Now))
}

// resolveRejects settles rows by an answer that was asked for at an instant. A row
// that another page rejected since it was read may be about a later answer by now.
func (t *tx) resolveRejects(ids []int64, batchID int64, asked time.Time) error {
	return t.ExecIn(`UPDATE ing_quarantine SET status_code = 'RESOLVED', judged_batch_id = ?, note = NULL, updated_at = ?
  WHERE status_code IN ('OPEN','REQUEUED') AND COALESCE(fetch_at, 0) < ? AND id IN `, ids, batchID, kernel.Micros(t.Now), kernel.Micros(asked))
}

// providersPer is how many ids one look at the rejects of records takes.
const providersPer = 100

var rejectsOfQuery = "SELECT id, provider_id, fetch_at FROM ing_quarantine WHERE dataset_id = ? AND status_code IN ('OPEN','REQUEUED') AND provider_id IN (" +
	strings.TrimSuffix(strings.Repeat("?,", providersPer), ",") + ")"

// settlesReject reports whether what became of an item says that an older reject of its
// record is of no use any more. That it did not come says nothing.
func settlesReject(head *record.Head, in record.Incoming) bool {
	action := record.Decide(head, in)
	return action != record.Stale && action != record.Miss
}

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
		rows, err := t.Query(rejectsOfQuery, args...)
		if err != nil {
			return err
		}
		err = kernel.Each(rows, func() error {
			var id int64
			var provider string
			var fetch sql.NullInt64
			err := rows.Scan(&id, &provider, &fetch)
			item := came[provider]
			if err == nil && item != nil && item.FetchAt.After(kernel.Instant(fetch)) && settlesReject(stored[item.key], item.Incoming) {
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
