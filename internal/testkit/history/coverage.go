package history

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// addCoverage adds what is covered: every source but the last was read to the end, with a day
// in two months waived; one has a range that failed ten days ago and stands before it. The
// newest hours are owed to the plans that wait.
func (f *filler) addCoverage() error {
	if err := f.exec("DELETE FROM ing_coverage"); err != nil {
		return err
	}
	for n := 1; n <= f.h.Sources; n++ {
		end := f.h.End.Add(-2 * time.Hour)
		if n == f.h.Sources {
			end = f.h.Begin.Add(40 * 24 * time.Hour)
		}
		reached := end
		if SourceCode(n) == f.h.Stalled() {
			reached = f.h.End.Add(-10 * 24 * time.Hour)
		}
		if err := f.addSegments(n, end, reached); err != nil {
			return err
		}
		if err := f.setCursor(n, reached); err != nil {
			return err
		}
	}
	return f.add(windows, f.h.runs())
}

// windows are what was found in each slice when it was read.
const windows = `INSERT INTO ing_window_history (dataset_id, expr_id, span_log2, window_from, window_to, estimated, estimate_code, actual, requests, bytes, as_of, run_id)
SELECT q.dataset_id, b.expr_id, {digits of slice}, {slice from}, {slice to}, 1000, 'HISTORY', 1000 + x.n % 97, 10, 2318470, {plan to}, {sources} + x.n
FROM ` + ofRun + ` JOIN ing_plan b ON b.id = {source of plan} JOIN ing_partition q ON q.id = b.partition_id ORDER BY x.n`

func (f *filler) addSegments(cursor int, end, reached time.Time) error {
	const every, day = 61 * 24 * time.Hour, 24 * time.Hour
	asOf := f.h.End.UnixMicro()
	add := func(from, to time.Time, want, have, waived any, fails int, retry any) error {
		if !from.Before(to) {
			return nil
		}
		return f.exec("INSERT INTO ing_coverage (cursor_id, seg_from, seg_to, want_at, have_at, waived_at, fails, retry_after) VALUES (?,?,?,?,?,?,?,?)",
			cursor, from.UnixMicro(), to.UnixMicro(), want, have, waived, fails, retry)
	}
	for at := f.h.Begin; at.Before(reached); at = at.Add(every) {
		to := at.Add(every)
		if to.After(reached) {
			to = reached
		}
		read := to
		if to.Sub(at) == every {
			read = to.Add(-day)
		}
		if err := add(at, read, asOf, asOf, nil, 0, nil); err != nil {
			return err
		}
		if err := add(read, to, asOf, nil, asOf, 0, nil); err != nil {
			return err
		}
	}
	failed := reached
	if reached.Before(end) {
		failed = reached.Add(time.Hour)
	}
	if err := add(reached, failed, asOf, nil, nil, 5, f.h.End.Add(12*time.Hour).UnixMicro()); err != nil {
		return err
	}
	if err := add(failed, end, asOf, asOf, nil, 0, nil); err != nil {
		return err
	}
	if cursor == f.h.Sources {
		return nil
	}
	return add(end, f.h.End, asOf, nil, nil, 0, nil)
}

// setCursor puts a watermark where its newest event says that it is.
func (f *filler) setCursor(n int, at time.Time) error {
	value := window.Text(at)
	if err := f.exec(`UPDATE ing_cursor SET cursor_value = ?, observed_max_value = ?, normalized_instant = ?, origin_instant = ?, own_since = ? WHERE id = ?`,
		value, value, at.UnixMicro(), f.h.Begin.UnixMicro(), f.h.Begin.UnixMicro(), n); err != nil {
		return err
	}
	var newest int64
	if err := f.db.QueryRowContext(f.ctx, "SELECT MAX(id) FROM ing_cursor_event WHERE cursor_id = ?", n).Scan(&newest); err != nil {
		return fmt.Errorf("the newest event of cursor %d: %w", n, err)
	}
	return f.exec("UPDATE ing_cursor_event SET new_value = ?, new_instant = ? WHERE id = ?", value, at.UnixMicro(), newest)
}
