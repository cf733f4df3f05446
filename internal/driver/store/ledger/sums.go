package ledger

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// endedRun is a run that ends, as the sums count it.
type endedRun struct {
	of     ingest.Partition
	id     int64
	status ingest.RunStatus
	lost   bool // a page that could not be had ended it
	stats  ingest.RunStats
}

// addSums adds a run that ends to the sums of its partition. It is the last thing a
// step does: all runs of a partition write the same rows, and must not wait for each
// other longer than a commit takes. Batches add nothing (decision 21).
func (t *tx) addSums(r endedRun) error {
	values := sumValues(r)
	for _, slot := range []view.SlotLength{view.ShortSlot, view.HourSlot} {
		opened, err := t.addWork(slot, r.of, values)
		if err != nil {
			return err
		}
		if opened && slot == view.ShortSlot {
			if err := t.forgetOldestSlot(); err != nil {
				return err
			}
		}
	}
	for _, e := range r.stats.Errors {
		if err := t.addError(r, e); err != nil {
			return err
		}
	}
	return nil
}

const (
	workSumOpen = `INSERT INTO ing_work_sum (slot_seconds, slot_start, provenance_code, endpoint_name, operation_code, runs_succeeded, runs_failed, runs_partial,
  runs_cancelled, batches, batches_failed, items_seen, items_inserted, items_updated, items_unchanged, items_gone, items_stale, items_duplicate, items_outside,
  items_quarantined, items_late, requests, retries, throttled, answers, took_ms, wait_ms, bytes_in, errors_l1, errors_l2, errors_l3, errors_l4,
  took_50ms, took_100ms, took_200ms, took_500ms, took_1s, took_2s, took_5s, took_10s, took_30s, took_longer, slowest_ms)
  VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	workSumAdd = `UPDATE ing_work_sum SET runs_succeeded = runs_succeeded + ?, runs_failed = runs_failed + ?, runs_partial = runs_partial + ?,
  runs_cancelled = runs_cancelled + ?, batches = batches + ?, batches_failed = batches_failed + ?, items_seen = items_seen + ?,
  items_inserted = items_inserted + ?, items_updated = items_updated + ?, items_unchanged = items_unchanged + ?, items_gone = items_gone + ?,
  items_stale = items_stale + ?, items_duplicate = items_duplicate + ?, items_outside = items_outside + ?, items_quarantined = items_quarantined + ?,
  items_late = items_late + ?, requests = requests + ?, retries = retries + ?, throttled = throttled + ?, answers = answers + ?, took_ms = took_ms + ?,
  wait_ms = wait_ms + ?, bytes_in = bytes_in + ?, errors_l1 = errors_l1 + ?, errors_l2 = errors_l2 + ?, errors_l3 = errors_l3 + ?, errors_l4 = errors_l4 + ?,
  took_50ms = took_50ms + ?, took_100ms = took_100ms + ?, took_200ms = took_200ms + ?, took_500ms = took_500ms + ?, took_1s = took_1s + ?,
  took_2s = took_2s + ?, took_5s = took_5s + ?, took_10s = took_10s + ?, took_30s = took_30s + ?, took_longer = took_longer + ?,
  slowest_ms = CASE WHEN slowest_ms < ? THEN ? ELSE slowest_ms END
  WHERE slot_seconds = ? AND slot_start = ? AND provenance_code = ? AND endpoint_name = ? AND operation_code = ?`
)

// addWork adds to one slot, and reports whether that had to be opened first.
func (t *tx) addWork(slot view.SlotLength, of ingest.Partition, values []any) (opened bool, err error) {
	key := append([]any{int64(time.Duration(slot).Seconds()), kernel.Micros(slot.Start(t.Now))}, keyOf(of)...)
	slowest := values[len(values)-1]
	n, err := t.Affected(workSumAdd, append(append(append([]any{}, values...), slowest), key...)...)
	if err != nil || n > 0 {
		return false, err
	}
	_, err = t.Exec(workSumOpen, append(key, values...)...)
	return true, err
}

// sumValues returns what a run adds, in the order of the statements; the slowest answer,
// which is no sum, stands last.
func sumValues(r endedRun) []any {
	s, e := r.stats, r.stats.Errors
	is := func(status ingest.RunStatus) int64 { return kernel.BoolInt(r.status == status) }
	values := []any{
		is(ingest.RunSucceeded), is(ingest.RunFailed), is(ingest.RunPartial), is(ingest.RunCancelled), s.Pages, kernel.BoolInt(r.lost),
		s.Seen, s.Inserted, s.Updated, s.Unchanged, s.Gone, s.Stale, s.Duplicate, s.Outside, s.Quarantined, s.Late,
		s.Requests, s.Retries, s.Throttled, s.Answers, s.TookMS, s.WaitMS, s.BytesIn,
		e.Of(fault.Transient), e.Of(fault.Request), e.Of(fault.Data), e.Of(fault.Fatal),
	}
	for _, answers := range s.Latencies {
		values = append(values, answers)
	}
	return append(values, s.SlowestMS)
}

// forgetOldestSlot removes the oldest of the short slots if it is too old to be asked
// for. It is done when one is opened, so there are never more than of two days, whether
// or not anything looks after the database; one slot at a time, so that no step has to
// remove many.
func (t *tx) forgetOldestSlot() error {
	seconds := int64(time.Duration(view.ShortSlot).Seconds())
	var oldest int64
	err := t.Row("SELECT COALESCE(MIN(slot_start), 0) FROM ing_work_sum WHERE slot_seconds = ?", seconds).Scan(&oldest)
	if err != nil || !time.UnixMicro(oldest).Before(t.Now.Add(-view.ShortSlotKept)) {
		return err
	}
	_, err = t.Exec("DELETE FROM ing_work_sum WHERE slot_seconds = ? AND slot_start = ?", seconds, oldest)
	return err
}

// addError adds to how often an error was met, with the run that met it last.
func (t *tx) addError(r endedRun, e ingest.FaultCount) error {
	key := append(append([]any{kernel.Micros(view.HourSlot.Start(t.Now))}, keyOf(r.of)...), string(e.Level), e.Code)
	values := []any{e.Times, kernel.Micros(t.Now), r.id, e.Batch}
	n, err := t.Affected(`UPDATE ing_error_sum SET times = times + ?, last_at = ?, run_id = ?, batch_no = ?
  WHERE slot_start = ? AND provenance_code = ? AND endpoint_name = ? AND operation_code = ? AND level_code = ? AND error_code = ?`, append(values, key...)...)
	if err != nil || n > 0 {
		return err
	}
	_, err = t.Exec(`INSERT INTO ing_error_sum (times, last_at, run_id, batch_no, slot_start, provenance_code, endpoint_name, operation_code, level_code, error_code)
  VALUES (?,?,?,?,?,?,?,?,?,?)`, append(values, key...)...)
	return err
}
