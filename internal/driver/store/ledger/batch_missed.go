package ledger

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// missedRecord is an id that was asked for and did not come.
type missedRecord struct {
	preparedRecord
	fate  record.Fate
	since time.Time // it is missing
}

// missedRecords are those of a batch, in the order of their keys.
type missedRecords []missedRecord

// findMissed decides what it means for each of them. Another record that has the hash
// of one is left to decide: it becomes a reject.
func findMissed(items []preparedRecord, stored map[record.Key]*record.Head) (out missedRecords) {
	for _, item := range items {
		head := stored[item.key]
		if !item.Missed || head != nil && head.ProviderID != item.ProviderID {
			continue
		}
		m := missedRecord{item, record.FateOf(head, item.Incoming), item.FetchAt}
		if head != nil && !head.MissingSince.IsZero() {
			m.since = head.MissingSince
		}
		out = append(out, m)
	}
	return out
}

// countFates puts them into the account (I4). What did not come was not seen, with two
// exceptions: a record that is gone for it, and an id that a search named and nobody
// ever stored, which would be lost without a trace and is rejected (I2).
func (m missedRecords) countFates(in ingest.BatchCommit, stats *ingest.BatchStats) (rejects []preparedReject) {
	for _, one := range m {
		switch {
		case one.fate == record.Vanished:
			stats.Seen++
		case one.fate == record.StillGone:
			stats.Missed.StillGone++
		case one.fate != record.NotFound:
			stats.Missed.Missing++
		case in.Refreshed != nil:
			stats.Missed.NotFound++
		default:
			stats.Seen++
			rejects = append(rejects, prepareReject(record.Reject{
				ProviderID: one.ProviderID, Reason: record.MissingDetail, Raw: []byte(one.ProviderID), FetchAt: one.FetchAt,
				Detail: "the search names it, the detail endpoint does not have it, and it was never stored",
			}))
		}
	}
	return rejects
}

// keysOf returns those whose fate is one of some.
func (m missedRecords) keysOf(of ...record.Fate) (out []record.Key) {
	for _, one := range m {
		if slices.Contains(of, one.fate) {
			out = append(out, one.key)
		}
	}
	return out
}

const (
	firstMissUpdate = "UPDATE ing_record SET missing_since = ? WHERE dataset_id = ? AND id_hash = ? AND missing_since IS NULL"
	holdSignals     = "UPDATE ing_signal SET not_before = ? WHERE dataset_id = ? AND id_hash = ? AND status_code = 'OPEN' AND not_before < ?"
)

var missedUpdate = "UPDATE ing_record SET refresh_checked_at = ? WHERE dataset_id = ? AND id_hash IN (" + keyMarks + ")"

// noteMissed writes what misses leave behind: when the records were looked at, since
// when they are missing, and signals. A record that is missing has an open signal, so
// that an update looks at it again once a second miss counts; other signals that name
// it wait as long, because what became of it is not known yet.
func (t *tx) noteMissed(in ingest.BatchCommit, batchID int64, missed missedRecords) error {
	if len(missed) == 0 {
		return nil
	}
	asked := missed[0].FetchAt // one request
	for chunk := range slices.Chunk(missed.keysOf(record.FirstMiss, record.MissedSoon, record.StillGone, record.Vanished), keysPer) {
		if _, err := t.Exec(missedUpdate, append([]any{kernel.Micros(asked), in.DatasetID}, padKeys(chunk)...)...); err != nil {
			return err
		}
	}
	for _, one := range missed {
		if one.fate.Waits() {
			if err := t.holdMissing(in, one); err != nil {
				return err
			}
		}
	}
	if err := t.closeSignals(in, batchID, missed.keysOf(record.Vanished, record.StillGone), asked, refresh.Done); err != nil {
		return err
	}
	return t.closeSignals(in, batchID, missed.keysOf(record.NotFound), asked, refresh.NotFound)
}

func (t *tx) holdMissing(in ingest.BatchCommit, one missedRecord) error {
	if one.fate == record.FirstMiss {
		if _, err := t.Exec(firstMissUpdate, kernel.Micros(one.since), in.DatasetID, one.key[:]); err != nil {
			return err
		}
	}
	by := ingest.Act{Actor: "executor", Reason: "the upstream did not have it when it was asked"}
	if _, err := t.addSignal(in.DatasetID, in.Partition.Dataset, refresh.Missing, ingest.NewSignal{ID: one.ProviderID}, by); err != nil {
		return err
	}
	until := kernel.Micros(record.LooksAgainAt(one.since))
	_, err := t.Exec(holdSignals, until, in.DatasetID, one.key[:], until)
	return err
}

// noteSightings ends misses: the record came, changed or not. Its signal is answered,
// others that name it wait no longer. Nobody downstream hears of it.
func (t *tx) noteSightings(in ingest.BatchCommit, batchID int64, items []preparedRecord, stored map[record.Key]*record.Head) error {
	var seen []record.Key
	for _, item := range items {
		if head := stored[item.key]; record.Sights(head, item.Incoming) && head.ProviderID == item.ProviderID {
			seen = append(seen, item.key)
		}
	}
	for chunk := range slices.Chunk(seen, keysPer) {
		if _, err := t.Exec(sightedUpdate, append([]any{in.DatasetID}, padKeys(chunk)...)...); err != nil {
			return err
		}
		if _, err := t.Exec(sightedSignals, append([]any{kernel.Micros(t.Now), batchID, in.DatasetID}, padKeys(chunk)...)...); err != nil {
			return err
		}
		if _, err := t.Exec(releaseSignals, append([]any{in.DatasetID}, padKeys(chunk)...)...); err != nil {
			return err
		}
	}
	return nil
}

var (
	sightedUpdate  = "UPDATE ing_record SET missing_since = NULL WHERE dataset_id = ? AND id_hash IN (" + keyMarks + ")"
	sightedSignals = "UPDATE ing_signal SET status_code = 'DONE', closed_at = ?, batch_id = ? WHERE dataset_id = ? AND kind_code = 'MISSING' AND status_code = 'OPEN' AND id_hash IN (" + keyMarks + ")"
	releaseSignals = "UPDATE ing_signal SET not_before = 0 WHERE dataset_id = ? AND status_code = 'OPEN' AND id_hash IN (" + keyMarks + ")"
)
