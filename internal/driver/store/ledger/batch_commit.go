package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// CommitBatch stores one page in one transaction: records, rejects, outbox rows,
// the batch with its evidence and the checkpoint (D§5.20). Whatever can be
// computed is computed before the transaction begins. A batch that is stored
// already gives the stored result, so repeating a call whose answer was lost
// settles it.
func (s *Ledger) CommitBatch(ctx context.Context, in ingest.BatchCommit) (result ingest.BatchResult, err error) {
	if len(in.Records) > bodies.MaxRecords {
		return result, fmt.Errorf("commit batch: %w: %d records, at most %d fit", fault.ErrInvalid, len(in.Records), bodies.MaxRecords)
	}
	ready, err := prepareBatch(in)
	if err != nil {
		return result, fmt.Errorf("commit batch: %w", err)
	}
	ready.allNew = s.expectsNew(in)
	packed := s.packChanged(ctx, in, &ready)
	var was openedBatch
	err = s.stepFrom(ctx, "commit batch", kernel.Bulk, func(t *tx) error {
		was, err = t.openBatch(in, &result)
		return err
	}, func(t *tx) (err error) {
		if was.done {
			result.Until, err = t.extendLease(in.Lease, in.Extend)
			return err
		}
		if in.Answers {
			if err := t.noteAnswered(in.Partition.Dataset); err != nil {
				return err
			}
		}
		err = t.commitBatch(in, &ready, packed, was, &result)
		ready.allNew = ready.allNew && err == nil // a redo reads the heads: a record may have been there
		return err
	})
	packed()
	if err != nil {
		s.allNew.CompareAndSwap(in.DatasetID, 0)
		return result, err
	}
	s.noteOutcome(in.DatasetID, result.Stats)
	return result, nil
}

// openedBatch is what is known when a commit begins.
type openedBatch struct {
	done     bool // it was stored before
	rejected bool // the dataset has rejects that are not settled
}

const batchColumns = `, (SELECT b.id FROM ing_task_run_batch b WHERE b.idempotent_key = ?), (SELECT b.stats FROM ing_task_run_batch b WHERE b.idempotent_key = ?),
  EXISTS (SELECT 1 FROM ing_quarantine q WHERE q.dataset_id = ? AND q.status_code IN ('OPEN','REQUEUED'))`

// openBatch passes the fence and looks whether the batch is stored already. One
// that is stored while this waits for the lock may be overlooked: then its key is
// refused, and the step is redone.
func (t *tx) openBatch(in ingest.BatchCommit, result *ingest.BatchResult) (was openedBatch, err error) {
	var id sql.NullInt64
	var stats sql.NullString
	held, err := t.fenceLease(in.Lease, batchColumns, []any{in.Key(), in.Key(), in.DatasetID}, &id, &stats, &was.rejected)
	*result = ingest.BatchResult{Until: t.Now.Add(in.Extend), Cancel: held.Cancel, Pause: held.Pause, BatchID: id.Int64}
	if err != nil || !id.Valid {
		return was, err
	}
	was.done, result.Repeated = true, true
	return was, json.Unmarshal([]byte(stats.String), &result.Stats)
}

func (t *tx) commitBatch(in ingest.BatchCommit, ready *preparedBatch, packed func(), was openedBatch, result *ingest.BatchResult) error {
	stored, err := t.knownHeads(in.DatasetID, ready)
	if err != nil {
		return err
	}
	packed()
	records, err := t.fillItems(ready.records, stored)
	if err != nil {
		return err
	}
	if records, err = t.remapItems(records, stored); err != nil {
		return err
	}
	stats := ingest.BatchStats{Seen: in.Seen, Duplicate: in.Duplicate, Outside: in.Outside, Excluded: in.Excluded}
	changes, collisions := decideRecords(records, stored, in, &stats)
	rejects := append(ready.rejects[:len(ready.rejects):len(ready.rejects)], collisions...)
	missed := findMissed(records, stored)
	rejects = append(rejects, missed.countFates(in, &stats)...)
	stats.Quarantined = len(rejects)
	stats.OutsideKept = min(in.OutsideKept, stats.Seen-stats.Outside-stats.Excluded-stats.Quarantined) // one of them may have collided
	if !stats.Balanced() {
		return fmt.Errorf("%w: batch does not add up: %+v", fault.ErrInvalid, stats) // I4
	}
	if result.BatchID, err = t.insertBatch(in, stats); err != nil {
		return err
	}
	result.Stats = stats
	if err := checkLean(in, changes); err != nil { // not before the key of the batch was accepted: it may be this very batch that stored them
		return err
	}
	if err := t.insertEvidence(result.BatchID, in.Request, in.Response, in.Raw); err != nil {
		return err
	}
	if err := t.insertLean(in, result.BatchID); err != nil {
		return err
	}
	crash.At(crash.BatchRow)
	placed := placeChanges(changes)
	if err := t.writeRecords(in, result.BatchID, changes, placed, ready.frames); err != nil {
		return err
	}
	crash.At(crash.Records)
	if err := t.insertOutbox(in, result.BatchID, placed); err != nil {
		return err
	}
	crash.At(crash.Outbox)
	if err := t.noteSeenIDs(in, result.BatchID); err != nil {
		return err
	}
	if err := t.noteListed(in); err != nil {
		return err
	}
	if err := t.noteRefreshed(in, result.BatchID); err != nil {
		return err
	}
	if err := t.noteMissed(in, result.BatchID, missed); err != nil {
		return err
	}
	if err := t.noteSightings(in, result.BatchID, records, stored); err != nil {
		return err
	}
	if was.rejected {
		if err := t.settleRejects(in, result.BatchID, records, stored); err != nil {
			return err
		}
	}
	if stats.Known, err = t.insertRejects(in, result.BatchID, rejects); err != nil {
		return err
	}
	if result.Stats = stats; stats.Known > 0 {
		if err := t.restateBatch(result.BatchID, stats, in.Exchange); err != nil {
			return err
		}
	}
	return t.writeCheckpoint(in, result.Until, stats)
}

// decideRecords asks record.Decide about every item and counts the answers.
func decideRecords(items []preparedRecord, stored map[record.Key]*record.Head, in ingest.BatchCommit, stats *ingest.BatchStats) (changes []change, collisions []preparedReject) {
	changes = make([]change, 0, max(len(items)-len(stored), 0)) // at least what is new
	for i := range items {
		item := &items[i]
		head := stored[item.key]
		if head != nil && head.ProviderID != item.ProviderID {
			collisions = append(collisions, collisionReject(item, head))
			if item.Missed {
				stats.Seen++ // it stands in the account after all
			}
			continue
		}
		action := record.Decide(head, item.Incoming)
		switch item.takes {
		case nothing:
			action = record.Unchanged
		case mapping:
			action = record.Remap
		}
		switch action {
		case record.Insert:
			stats.Inserted++
		case record.Update:
			stats.Updated++
		case record.Remove:
			stats.Gone++
		case record.Unchanged, record.Touch, record.Remap:
			stats.Unchanged++
		case record.Stale:
			stats.Stale++
		}
		if action == record.Insert || action == record.Update {
			countLate(in, item, head, stats)
		}
		if action.Publishes() || action == record.Touch || action == record.Remap {
			changes = append(changes, newChange(item, head, action))
		}
	}
	return changes, collisions
}

func (t *tx) insertBatch(in ingest.BatchCommit, stats ingest.BatchStats) (int64, error) {
	text, err := ingest.EncodeBatch(stats, in.Exchange)
	if err != nil {
		return 0, err
	}
	return t.Insert(batchInsert, in.Lineage.RunID, in.Lease.TaskID, in.Lineage.SliceID, in.Lineage.PlanID, in.Lease.Epoch, in.No, in.Pass, in.Key(),
		in.Partition.Source, string(in.Partition.Operation), in.PageNo, in.PageSize, kernel.OrNull(in.BeforeToken), tokenHash(in.BeforeToken), kernel.OrNull(in.AfterToken),
		stats.Seen, string(ingest.BatchSucceeded), string(text), nil, kernel.Micros(t.Now), kernel.Micros(t.Now))
}

// restateBatch adds to the account of a batch what is known only after its rejects
// were compared with those that are stored.
func (t *tx) restateBatch(id int64, stats ingest.BatchStats, x ingest.Exchange) error {
	text, err := ingest.EncodeBatch(stats, x)
	if err != nil {
		return err
	}
	return t.ExecOne("UPDATE ing_task_run_batch SET stats = ? WHERE id = ?", string(text), id)
}

const batchInsert = `INSERT INTO ing_task_run_batch (run_id, task_id, slice_id, plan_id, lease_epoch, batch_no, pass, idempotent_key, provenance_code,
  operation_code, page_no, page_size, before_token, before_token_hash, after_token, record_count, status_code, stats, error, committed_at, created_at)
  VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`

func (t *tx) insertFailedBatch(in ingest.Finish) error {
	f := in.Failed
	var source, operation string
	if err := t.Row("SELECT provenance_code, operation_code FROM ing_task WHERE id = ?", in.Lease.TaskID).Scan(&source, &operation); err != nil {
		return err
	}
	text, err := ingest.EncodeBatch(ingest.BatchStats{}, f.Exchange)
	if err != nil {
		return err
	}
	id, err := t.Insert(batchInsert, in.Lineage.RunID, in.Lease.TaskID, in.Lineage.SliceID, in.Lineage.PlanID, in.Lease.Epoch, f.No, f.Pass, in.FailedKey(),
		source, operation, f.PageNo, nil, kernel.OrNull(f.BeforeToken), tokenHash(f.BeforeToken), nil, 0, string(ingest.BatchFailed), string(text), kernel.Readable(f.Error), nil, kernel.Micros(t.Now))
	if err != nil {
		return err
	}
	return t.insertEvidence(id, f.Request, f.Response, f.Raw)
}

// tokenHash makes tokens findable without making them unique: real cursors can
// be the same string on every page (D§5.5).
func tokenHash(token string) any {
	if token == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(token))
	return sum[:16]
}

func (t *tx) insertEvidence(batchID int64, request, response []byte, raw string) error {
	_, err := t.Exec("INSERT INTO ing_batch_evidence (batch_id, request, response, blob_ref, created_at) VALUES (?,?,?,?,?)",
		batchID, kernel.JSONOrNull(request), kernel.JSONOrNull(response), kernel.OrNull(raw), kernel.Micros(t.Now))
	return err
}

// writeCheckpoint writes where the attempt stands, and extends its lease.
func (t *tx) writeCheckpoint(in ingest.BatchCommit, until time.Time, stats ingest.BatchStats) error {
	text, err := json.Marshal(in.Checkpoint)
	if err != nil {
		return err
	}
	run := in.RunStats
	run.BatchStats = run.BatchStats.Add(stats)
	runText, err := json.Marshal(run)
	if err != nil {
		return err
	}
	if err := t.ExecOne("UPDATE ing_task SET leased_until = ?, last_heartbeat_at = ?, checkpoint = ?, idle_leases = 0, updated_at = ? WHERE id = ?",
		kernel.Micros(until), kernel.Micros(t.Now), string(text), kernel.Micros(t.Now), in.Lease.TaskID); err != nil {
		return err
	}
	return t.ExecOne("UPDATE ing_task_run SET checkpoint = ?, stats = ?, last_heartbeat = ? WHERE id = ?", string(text), string(runText), kernel.Micros(t.Now), in.Lineage.RunID)
}
