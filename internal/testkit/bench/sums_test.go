package bench

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

// sumQuestions are those about many rows at once (§14.7), over the last 24 hours as
// commands ask them.
func sumQuestions() []question {
	now := time.Now().UTC().Truncate(time.Hour)
	day := view.SumQuery{From: now.Add(-24 * time.Hour), To: now}
	byHour := day
	byHour.Step = time.Hour
	return []question{
		{"stats queue: a day of all sources", func(tb testing.TB, h *history) (int, error) {
			rows, err := h.store.WorkSums(tb.Context(), day)
			return len(rows), err
		}},
		{"stats throughput: a day of all sources by the hour", func(tb testing.TB, h *history) (int, error) {
			rows, err := h.store.WorkSums(tb.Context(), byHour)
			return len(rows), err
		}},
		{"stats errors: a day of all sources", func(tb testing.TB, h *history) (int, error) {
			rows, err := h.store.ErrorSums(tb.Context(), view.ErrorQuery{From: day.From, To: day.To})
			return len(rows), err
		}},
		{"plan tree: the first 50 slices of a plan", func(tb testing.TB, h *history) (int, error) {
			rows, err := h.store.PlanLineage(tb.Context(), int64(h.batches/batchesPerPlan/2), 0, 51)
			return len(rows), err
		}},
		{"cursor history: a day of a cursor", func(tb testing.TB, h *history) (int, error) {
			cursor, err := h.store.Cursor(tb.Context(), 1)
			if err != nil {
				return 0, err
			}
			rows, err := h.store.CursorTimeline(tb.Context(), cursor, day.From, day.To, 0, 51)
			return len(rows), err
		}},
	}
}

// addSums adds what a year of hours leaves for ten sources, and an event for every run, one
// a minute.
func (h *history) addSums(tb testing.TB) {
	tb.Helper()
	now := time.Now().UTC().Truncate(time.Hour)
	hours := min(h.batches/100, 8760)
	exec(tb, h.db, workSums, now.UnixMicro(), hours)
	exec(tb, h.db, errorSums, now.UnixMicro(), now.UnixMicro(), hours)
	for first := 0; first < h.batches/batchesPerRun; first += 1_000_000 {
		exec(tb, h.db, runEvents, first, now.UnixMicro(), first, min(1_000_000, h.batches/batchesPerRun-first))
	}
}

const (
	workSums = `INSERT INTO ing_work_sum (slot_seconds, slot_start, provenance_code, endpoint_name, operation_code, runs_succeeded, runs_failed, runs_partial, runs_cancelled,
  batches, batches_failed, items_seen, items_inserted, items_updated, items_unchanged, items_gone, items_stale, items_duplicate, items_outside, items_quarantined,
  items_late, requests, retries, throttled, answers, took_ms, slowest_ms, wait_ms, bytes_in, errors_l1, errors_l2, errors_l3, errors_l4)
SELECT 3600, ? - x.n * 3600000000, CONCAT('source-', d.n), 'works', 'HARVEST', 100, 1, 0, 2, 1000, 1, 100000, 90000, 5000, 5000, 0, 0, 0, 0, 10, 5, 1010, 9, 1, 1000,
  500000, 900, 1000, 100000000, 9, 1, 10, 0 FROM number x, digit d WHERE x.n <= ?`
	errorSums = `INSERT INTO ing_error_sum (slot_start, provenance_code, endpoint_name, operation_code, level_code, error_code, times, last_at, run_id, batch_no)
SELECT ? - x.n * 3600000000, CONCAT('source-', d.n), 'works', 'HARVEST', 'L1', 'SERVER_ERROR', 9, ? - x.n * 3600000000 + 1000000, x.n, 1 FROM number x, digit d WHERE x.n <= ?`
	runEvents = `INSERT INTO ing_cursor_event (cursor_id, kind_code, provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, cursor_type_code,
  prev_instant, new_instant, window_from, window_to, as_of, event_at, lookback_us, direction_code, idempotent_key, created_at)
SELECT e.cursor_id, 'SUCCEEDED', e.provenance_code, e.operation_code, e.cursor_key, e.namespace_scope_code, e.namespace_key, e.cursor_type_code,
  e.prev_instant, e.new_instant, e.window_from, e.window_to, e.as_of, e.event_at, 0, e.direction_code, CONCAT('event', x.n + ?), ? - (x.n + ?) * 60000000
FROM number x, ing_cursor_event e WHERE e.id = 1 AND x.n <= ?`
)
