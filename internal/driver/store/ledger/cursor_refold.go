package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// eventPage is how many events Verify reads at a time.
const eventPage = 1000

// verdictTries is how often a verdict is tried without keeping others from writing.
const verdictTries = 5

// Verify refolds a cursor's ledger and compares the result with what is stored (I5, C§4).
// The parts are read one after the other, so that no snapshot stays open over a
// long ledger; if the cursor's version moved meanwhile, problems found may be
// none, and the comparison is made again. On a cursor that never rests it is made
// under its lock at last.
func (s *Ledger) Verify(ctx context.Context, cursorID int64) (view.Verdict, error) {
	v, folded, err := s.refoldCursor(ctx, cursorID)
	for range verdictTries {
		if err != nil || len(v.Problems) == 0 {
			return v, err
		}
		now, wrong := s.look.Cursor(ctx, cursorID)
		if wrong != nil || now.Version == v.Cursor.Version {
			return v, wrong
		}
		v, folded, err = s.refoldOn(ctx, cursorID, folded)
	}
	err = s.once(ctx, kernel.Urgent, (*tx).ReadClock, func(t *tx) error {
		if _, err := look.LockCursor(t.Tx, cursorID); err != nil {
			return err
		}
		v, folded, err = s.refoldOn(ctx, cursorID, folded)
		if err != nil {
			return err
		}
		return kernel.ErrRehearsed // nothing was written
	})
	return v, kernel.Wrap("verify cursor", kernel.Performed(err))
}

// VerifyBetween folds a cursor's ledger up to an instant, and tells which of the events that
// came since another contradict it. What is stored now is not compared: it is of now.
func (s *Ledger) VerifyBetween(ctx context.Context, cursorID int64, within window.Window) (v view.Verdict, err error) {
	if v.Cursor, err = s.look.Cursor(ctx, cursorID); err != nil {
		return v, err
	}
	r, err := s.beginRefold(ctx, v.Cursor)
	if err != nil {
		return v, err
	}
	r.within = &within
	if err := r.goOn(ctx, s, v.Cursor); err != nil {
		return v, err
	}
	v.Events, v.Problems, v.Refolded = r.events, r.problems, r.Cursor
	return v, nil
}

// refolding is a ledger that is folded page by page, and may be folded on when it
// has grown.
type refolding struct {
	ledgerState
	start    int64 // the snapshot it begins with; zero: its first event
	last     int64 // the newest event that is in it
	events   int
	problems []string
	within   *window.Window // nil: all of it; else problems of other events are not told, and later ones not folded
}

// beginRefold starts at the newest snapshot of a ledger.
func (s *Ledger) beginRefold(ctx context.Context, c view.Cursor) (r refolding, err error) {
	start, err := s.look.LedgerStart(ctx, c)
	if err != nil {
		return r, err
	}
	return refolding{
		ledgerState: ledgerState{State: start.State, left: start.Left, broken: len(start.Problems) > 0},
		start:       start.Event, last: start.Event, problems: slices.Clip(start.Problems),
	}, nil
}

// goOn folds what the ledger has got since.
func (r *refolding) goOn(ctx context.Context, s *Ledger, c view.Cursor) error {
	line := c.Line()
	for {
		events, err := s.look.CursorEvents(ctx, c.ID, r.last, eventPage)
		if err != nil {
			return err
		}
		for _, e := range events {
			if r.within != nil && !e.At.Before(r.within.To) {
				return nil
			}
			known := len(r.problems)
			r.addEvent(e, line)
			if r.within == nil || r.within.Contains(e.At) {
				r.events++
			} else {
				r.problems = r.problems[:known]
			}
		}
		if len(events) < eventPage {
			return nil
		}
	}
}

func (r *refolding) addEvent(e view.CursorEvent, line ingest.CursorType) {
	if was := line.Text(r.Cursor); e.Prev != was {
		r.problems = append(r.problems, fmt.Sprintf("event %d says the cursor was %q, the ledger says %q", e.ID, e.Prev, was))
	}
	r.State = coverage.Fold(r.State, foldableEvent(e, line))
	if is := line.Text(r.Cursor); e.New != is {
		r.problems = append(r.problems, fmt.Sprintf("event %d moved the cursor to %q, the ledger says %q", e.ID, e.New, is))
	}
	if e.Kind == coverage.Manual {
		r.left = e.Windows
	}
	r.last = e.ID
}

// refoldCursor folds a cursor's ledger and tells where it differs from what is stored.
func (s *Ledger) refoldCursor(ctx context.Context, cursorID int64) (v view.Verdict, r refolding, err error) {
	if v.Cursor, err = s.look.Cursor(ctx, cursorID); err != nil {
		return v, r, err
	}
	if r, err = s.beginRefold(ctx, v.Cursor); err == nil {
		err = r.goOn(ctx, s, v.Cursor)
	}
	if err != nil {
		return v, r, err
	}
	return v, r, s.judgeRefold(ctx, &v, r)
}

// refoldOn refolds from where an earlier refold stopped, unless the ledger begins with
// another snapshot since.
func (s *Ledger) refoldOn(ctx context.Context, cursorID int64, r refolding) (v view.Verdict, _ refolding, err error) {
	if v.Cursor, err = s.look.Cursor(ctx, cursorID); err != nil {
		return v, r, err
	}
	now, err := s.beginRefold(ctx, v.Cursor)
	if err != nil {
		return v, r, err
	}
	if r.problems = slices.Clip(r.problems); now.start != r.start {
		r = now
	}
	if err := r.goOn(ctx, s, v.Cursor); err != nil {
		return v, r, err
	}
	return v, r, s.judgeRefold(ctx, &v, r)
}

func (s *Ledger) judgeRefold(ctx context.Context, v *view.Verdict, r refolding) error {
	v.Events, v.Problems = r.events, slices.Clip(r.problems)
	return s.compareState(ctx, v, r.ledgerState)
}

// ledgerState is what a ledger says of its cursor.
type ledgerState struct {
	coverage.State
	left   []window.Window
	broken bool // it begins with a snapshot that cannot be trusted
}

// foldableEvent returns an entry of the ledger as the fold takes it.
func foldableEvent(e view.CursorEvent, line ingest.CursorType) coverage.Event {
	value, err := line.Parse(e.New)
	if err != nil {
		value = time.Time{} // compared with what it says, this is a finding
	}
	return coverage.Event{Kind: e.Kind, Windows: e.Windows, AsOf: e.AsOf, At: e.At, Lookback: e.Lookback, Value: value}
}

func (s *Ledger) compareState(ctx context.Context, v *view.Verdict, state ledgerState) error {
	v.Refolded = state.Cursor
	if is := v.Cursor.Line().Text(state.Cursor); !v.Cursor.Instant.Equal(state.Cursor) || v.Cursor.Value != is {
		v.Problems = append(v.Problems, fmt.Sprintf("the cursor is %q, its ledger gives %q", v.Cursor.Value, is))
	}
	if !slices.Equal(v.Cursor.Left, state.left) {
		v.Problems = append(v.Problems, fmt.Sprintf("%d ranges stand as left behind, the ledger gives %d", len(v.Cursor.Left), len(state.left)))
	}
	if !v.Cursor.Origin.Equal(state.Origin) {
		v.Problems = append(v.Problems, fmt.Sprintf("the origin is %v, the ledger gives %v", v.Cursor.Origin, state.Origin))
	}
	if lookback := look.LookbackOf(v.Cursor); lookback != state.Lookback {
		v.Problems = append(v.Problems, fmt.Sprintf("the lookback is %v, the ledger gives %v", lookback, state.Lookback))
	}
	stored, err := s.look.Segments(ctx, v.Cursor.ID)
	if err != nil {
		return err
	}
	if !slices.Equal(stored, state.Segments) {
		v.Problems = append(v.Problems, fmt.Sprintf("coverage has %d segments that differ from the %d of the ledger", len(stored), len(state.Segments)))
	}
	return nil
}
