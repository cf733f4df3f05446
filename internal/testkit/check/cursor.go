package check

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/window"
)

// entry is one event of a cursor's ledger, as far as it says how far it may move.
type entry struct {
	id         int64
	kind       coverage.Kind
	prev, next int64
	windows    []span
	asOf, at   int64
	lookback   int64
}

// Cursors is I5, decided twice, for watermarks of time and of ids alike. Each event that moved a cursor is held against
// what was wanted and read up to it, counted here without the fold; then the
// whole ledger is folded, and must give the cursor and the coverage that are stored.
func Cursors(ctx context.Context, db *sql.DB) (problems []string, err error) {
	ledgers := map[int64][]entry{}
	err = eachRow(ctx, db, `SELECT cursor_id, id, kind_code, COALESCE(prev_instant, CAST(prev_numeric AS SIGNED), -1), COALESCE(new_instant, CAST(new_numeric AS SIGNED), -1), COALESCE(window_from, 0), COALESCE(window_to, 0),
  COALESCE(spans, ''), COALESCE(as_of, 0), event_at, lookback_us FROM ing_cursor_event ORDER BY cursor_id, id`, func(scan func(...any) error) error {
		var cursor int64
		var e entry
		var kind, spans string
		var whole span
		if err := scan(&cursor, &e.id, &kind, &e.prev, &e.next, &whole.from, &whole.to, &spans, &e.asOf, &e.at, &e.lookback); err != nil {
			return err
		}
		e.kind = coverage.Kind(kind)
		if e.windows, err = wantedSpans(whole, spans); err != nil {
			return err
		}
		ledgers[cursor] = append(ledgers[cursor], e)
		return nil
	})
	if err != nil {
		return problems, err
	}
	for cursor, ledger := range ledgers {
		for _, p := range findOverruns(ledger) {
			problems = append(problems, fmt.Sprintf("I5: cursor %d: %s", cursor, p))
		}
		found, err := checkRefold(ctx, db, cursor, ledger)
		if err != nil {
			return problems, err
		}
		problems = append(problems, found...)
	}
	return problems, nil
}

// findOverruns finds events that moved the cursor past something that was wanted and
// not read: between any two boundaries of the ledger the newest wish must not be
// newer than the newest reading.
func findOverruns(ledger []entry) (problems []string) {
	var edges []int64
	for _, e := range ledger {
		for _, w := range e.windows {
			edges = append(edges, w.from, w.to)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	want, have := make([]int64, len(edges)), make([]int64, len(edges)) // of the stretch that begins there
	origin := int64(-1)
	for _, e := range ledger {
		if e.kind == coverage.Manual || e.kind == coverage.Snapshot {
			return problems // a person, or a shortened ledger: only the fold can tell
		}
		raise := map[coverage.Kind][]int64{coverage.Planned: want, coverage.Succeeded: have, coverage.Waived: have}[e.kind]
		for _, w := range e.windows {
			if e.kind == coverage.Planned && (origin < 0 || w.from < origin) {
				origin = w.from
			}
			first, _ := slices.BinarySearch(edges, w.from)
			for i := first; raise != nil && i < len(edges) && edges[i] < w.to; i++ {
				raise[i] = max(raise[i], e.asOf)
			}
		}
		if e.next <= e.prev || e.prev < 0 {
			continue
		}
		first, _ := slices.BinarySearch(edges, origin)
		for i := first; i < len(edges) && edges[i] < e.next; i++ {
			if have[i] == 0 || have[i] < want[i] {
				problems = append(problems, fmt.Sprintf("event %d moved it to %s, past %s, which is wanted and not read", e.id, clockText(e.next), clockText(edges[i])))
				break
			}
		}
	}
	return problems
}

func clockText(micros int64) string { return window.Text(time.UnixMicro(micros).UTC()) }

// checkRefold compares what is stored with the fold of the ledger.
func checkRefold(ctx context.Context, db *sql.DB, cursor int64, ledger []entry) (problems []string, err error) {
	var state coverage.State
	for _, e := range ledger {
		if e.kind == coverage.Snapshot {
			return nil, nil // its state is not read here
		}
		event := coverage.Event{Kind: e.kind, AsOf: instantOf(e.asOf), At: instantOf(e.at), Lookback: time.Duration(e.lookback) * time.Microsecond, Value: instantOf(e.next)}
		for _, w := range e.windows {
			if w.from < w.to {
				event.Windows = append(event.Windows, window.Window{From: instantOf(w.from), To: instantOf(w.to)})
			}
		}
		state = coverage.Fold(state, event)
	}
	var stored sql.NullInt64
	if err := db.QueryRowContext(ctx, "SELECT COALESCE(normalized_instant, CAST(normalized_numeric AS SIGNED)) FROM ing_cursor WHERE id = ?", cursor).Scan(&stored); err != nil {
		return nil, err
	}
	if stored.Valid != !state.Cursor.IsZero() || stored.Valid && stored.Int64 != state.Cursor.UnixMicro() {
		problems = append(problems, fmt.Sprintf("I5: cursor %d is at %s, its ledger gives %s", cursor, clockText(stored.Int64), window.Text(state.Cursor)))
	}
	var segments []coverage.Segment
	err = eachRow(ctx, db, fmt.Sprintf(`SELECT seg_from, seg_to, COALESCE(want_at, 0), COALESCE(have_at, 0), COALESCE(waived_at, 0), fails, COALESCE(retry_after, 0)
  FROM ing_coverage WHERE cursor_id = %d ORDER BY seg_from`, cursor), func(scan func(...any) error) error {
		var from, to, want, have, waived, retry int64
		var s coverage.Segment
		err := scan(&from, &to, &want, &have, &waived, &s.Fails, &retry)
		s.Window = window.Window{From: instantOf(from), To: instantOf(to)}
		s.Want, s.Have, s.Waived, s.RetryAfter = instantOf(want), instantOf(have), instantOf(waived), instantOf(retry)
		segments = append(segments, s)
		return err
	})
	if err == nil && !sameSegments(segments, state.Segments) {
		problems = append(problems, fmt.Sprintf("I5: cursor %d has coverage %s, its ledger gives %s", cursor, segmentsText(segments), segmentsText(state.Segments)))
	}
	return problems, err
}

// sameSegments compares by value: instants of two sources may differ in form.
func sameSegments(a, b []coverage.Segment) bool { return segmentsText(a) == segmentsText(b) }

func segmentsText(segments []coverage.Segment) string {
	if len(segments) == 0 {
		return "[]"
	}
	out, err := json.Marshal(segments)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func instantOf(micros int64) time.Time {
	if micros <= 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
