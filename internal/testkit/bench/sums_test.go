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
			rows, err := h.store.PlanLineage(tb.Context(), h.MiddlePlan(), 0, 51)
			return len(rows), err
		}},
		{"cursor history: a day of a cursor", func(tb testing.TB, h *history) (int, error) {
			cursor, err := h.store.Cursor(tb.Context(), h.LastCursor())
			if err != nil {
				return 0, err
			}
			rows, err := h.store.CursorTimeline(tb.Context(), cursor, day.From, day.To, 0, 51)
			return len(rows), err
		}},
	}
}
