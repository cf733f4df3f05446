package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) verify(t *testing.T) {
	h := fixture.Harvest{Days: 4, Lookback: fixture.Day}
	// A world in which every kind of row exists: read, failed and open days.
	lived := func(w *world) int64 {
		w.Helper()
		w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Succeeded, fixture.Failed)
		w.Verified(h)
		return w.CursorID(h)
	}
	for name, tamper := range map[string]func(w *world, cursor int64) int64{
		"the cursor moved on": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_cursor SET normalized_instant = ?, cursor_value = ? WHERE id = ?", fixture.Midnight(5).UnixMicro(), window.Text(fixture.Midnight(5)), id)
		},
		"the cursor moved back": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_cursor SET normalized_instant = ?, cursor_value = ? WHERE id = ?", fixture.Midnight(1).UnixMicro(), window.Text(fixture.Midnight(1)), id)
		},
		"the cursor's text changed": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_cursor SET cursor_value = ? WHERE id = ?", window.Text(fixture.Midnight(5)), id)
		},
		"the cursor's instant changed": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_cursor SET normalized_instant = normalized_instant + 1 WHERE id = ?", id)
		},
		"the cursor was emptied": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_cursor SET normalized_instant = NULL, cursor_value = NULL WHERE id = ?", id)
		},
		"the origin rose": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_cursor SET origin_instant = ? WHERE id = ?", fixture.Midnight(2).UnixMicro(), id)
		},
		"the lookback shrank": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_cursor SET lookback_us = 0 WHERE id = ?", id)
		},
		"a failed day passes for read": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_coverage SET have_at = want_at, fails = 0, retry_after = NULL WHERE cursor_id = ? AND fails > 0", id)
		},
		"a day is no longer wanted": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_coverage SET want_at = NULL WHERE cursor_id = ? AND seg_from = ?", id, fixture.Midnight(3).UnixMicro())
		},
		"a segment grew": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_coverage SET seg_to = seg_to + 1 WHERE cursor_id = ? AND seg_from = ?", id, fixture.Midnight(4).UnixMicro())
		},
		"a failure was forgotten": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_coverage SET fails = 0 WHERE cursor_id = ? AND fails > 0", id)
		},
		"a segment vanished": func(w *world, id int64) int64 {
			return w.Exec("DELETE FROM ing_coverage WHERE cursor_id = ? AND seg_from = ?", id, fixture.Midnight(4).UnixMicro())
		},
		"a segment appeared": func(w *world, id int64) int64 {
			return w.Exec("INSERT INTO ing_coverage (cursor_id, seg_from, seg_to, have_at) VALUES (?,?,?,?)",
				id, fixture.Midnight(9).UnixMicro(), fixture.Midnight(10).UnixMicro(), fixture.Noon.UnixMicro())
		},
		"the PLANNED event vanished": dropEvent("PLANNED"),
		"a SUCCEEDED event vanished": dropEvent("SUCCEEDED"),
		"the FAILED event vanished":  dropEvent("FAILED"),
		"the whole ledger vanished":  func(w *world, id int64) int64 { return w.Exec("DELETE FROM ing_cursor_event WHERE cursor_id = ?", id) },
		"a failure was turned to success": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_cursor_event SET kind_code = 'SUCCEEDED' WHERE kind_code = 'FAILED'")
		},
		"an event's window grew": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_cursor_event SET window_to = window_to + 1 WHERE kind_code = 'PLANNED'")
		},
		"an event's as-of changed": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_cursor_event SET as_of = as_of - 1 WHERE kind_code = 'FAILED' OR kind_code = 'PLANNED'")
		},
		"an event tells another past": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_cursor_event SET prev_value = ? WHERE kind_code = 'FAILED'", window.Text(fixture.Midnight(1)))
		},
		"an event tells another result": func(w *world, id int64) int64 {
			return w.Exec("UPDATE ing_cursor_event SET new_value = ? WHERE kind_code = 'FAILED'", window.Text(fixture.Midnight(4)))
		},
	} {
		s.test(t, "finds that "+name, func(w *world) {
			id := lived(w)
			if tamper(w, id) == 0 {
				w.Fatal("nothing was tampered with")
			}
			verdict, err := w.Store.Verify(w.Ctx, id)
			w.Must(err)
			if len(verdict.Problems) == 0 {
				w.Error("verify found nothing")
			}
		})
	}
	s.test(t, "looks at one cursor only", func(w *world) {
		id := lived(w)
		other := fixture.Harvest{Source: "other"}
		w.Plan(other)
		w.Exec("UPDATE ing_cursor SET cursor_value = NULL WHERE id = ?", id)
		w.Verified(other)
	})
	s.test(t, "an unknown cursor is not found", func(w *world) {
		_, err := w.Store.Verify(w.Ctx, 4711)
		w.Refuses(err, fault.ErrNotFound, "verify")
	})
	s.test(t, "a ledger of many pages", func(w *world) {
		const plans = 1005
		id, err := w.Store.RecordTrigger(w.Ctx, h.NewTrigger())
		w.Must(err)
		for n := range plans {
			in := fixture.Harvest{Trigger: fmt.Sprint(n), Days: 1, AsOf: fixture.Noon.Add(time.Duration(n) * time.Second)}.NewPlan(id)
			_, _, err := w.Store.OpenPlan(w.Ctx, in)
			w.Must(err)
		}
		verdict, err := w.Store.Verify(w.Ctx, w.CursorID(h))
		w.Must(err)
		if verdict.Events != plans || len(verdict.Problems) != 0 {
			w.Errorf("%d events, want %d; problems %v", verdict.Events, plans, verdict.Problems)
		}
	})
	s.test(t, "gives no false alarm while slices finish", func(w *world) {
		h := fixture.Harvest{Days: 20}
		attempts := w.StartAll(h)
		cursor := w.CursorID(h)
		done := make(chan struct{})
		w.Together(2, func(i int) error {
			if i == 0 {
				defer close(done)
				for _, a := range attempts {
					if err := w.Store.FinishRun(w.Ctx, a.Ending(fixture.Succeeded)); err != nil {
						return err
					}
				}
				return nil
			}
			for {
				verdict, err := w.Store.Verify(w.Ctx, cursor)
				if err != nil || len(verdict.Problems) != 0 {
					return fmt.Errorf("verify: %v %v", err, verdict.Problems)
				}
				select {
				case <-done:
					return nil
				default:
				}
			}
		})
	})
}

// dropEvent deletes the last event of a kind.
func dropEvent(kind string) func(w *world, cursor int64) int64 {
	return func(w *world, cursor int64) int64 {
		w.Helper()
		id := w.Number("SELECT MAX(id) FROM ing_cursor_event WHERE cursor_id = ? AND kind_code = ?", cursor, kind)
		return w.Exec("DELETE FROM ing_cursor_event WHERE id = ?", id)
	}
}
