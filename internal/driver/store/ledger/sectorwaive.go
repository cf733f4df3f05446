package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// WaiveSector accepts that one sector stays unread where it lags behind the others. A window counts as waived when nobody
// else lags there; until then the others are still asked for. What the sector does not lag in is left as it is, so
// repeating changes nothing, and a range that all sectors owe is not waived for one of them.
func (s *Ledger) WaiveSector(ctx context.Context, cursorID int64, name string, within window.Window, by ingest.Act) (done view.Waived, err error) {
	err = s.step(ctx, "waive sector", kernel.Urgent, func(t *tx) error {
		var err error
		done, err = t.waiveSector(cursorID, name, within, by)
		if err == nil && by.Rehearsal {
			return kernel.ErrRehearsed
		}
		return err
	})
	done.DryRun = by.Rehearsal
	return done, kernel.Performed(err)
}

func (t *tx) waiveSector(cursorID int64, name string, within window.Window, by ingest.Act) (done view.Waived, err error) {
	c, err := look.LockCursor(t.Tx, cursorID)
	if err != nil {
		return done, err
	}
	if within.To.After(t.Now) {
		return done, fmt.Errorf("%w: %s lies in the future: it is unknown what would be waived", fault.ErrInvalid, window.Text(within.To))
	}
	line := c.Namespace.Line()
	done = view.Waived{CursorID: cursorID, Partition: name, Window: within, Before: line.Text(c.Value), After: line.Text(c.Value)}
	if done.Waived, err = t.markWaived(cursorID, name, within); err != nil || len(done.Waived) == 0 {
		return done, err
	}
	if err := t.closeWaived(cursorID, done.Waived, max(0, c.Lookback), by); err != nil {
		return done, err
	}
	after, err := look.LockCursor(t.Tx, cursorID)
	done.After = line.Text(after.Value)
	if err != nil || by.Rehearsal {
		return done, err
	}
	return done, t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "coverage.waive", Object: fmt.Sprintf("cursor/%d", cursorID), Reason: by.Reason,
		Detail: map[string]any{"partition": name, "waived": done.Waived}})
}

// markWaived marks the lags of a sector within a range, and returns where it lagged.
func (t *tx) markWaived(cursorID int64, name string, within window.Window) (out []window.Window, err error) {
	ids, lags, err := t.lagsIn(cursorID, within)
	if err != nil {
		return nil, err
	}
	for i, l := range lags {
		if l.Sector != name || l.Waived {
			continue
		}
		if _, err := t.Exec("DELETE FROM ing_sector_lag WHERE id = ?", ids[i]); err != nil {
			return nil, err
		}
		if err := t.insertLags(cursorID, sector.Without([]sector.Lag{l}, []window.Window{within})); err != nil {
			return nil, err
		}
		l.Window, l.Waived = l.Window.Intersect(within), true
		if err := t.insertLags(cursorID, []sector.Lag{l}); err != nil {
			return nil, err
		}
		out = append(out, l.Window)
	}
	return window.Union(out), nil
}

// closeWaived waives windows in which nobody lags but those whose lag was accepted. A window that later plans want to read
// again for all sectors is waived only as of when the others were read.
func (t *tx) closeWaived(cursorID int64, in []window.Window, lookback time.Duration, by ingest.Act) error {
	_, lags, err := t.lagsIn(cursorID, in...)
	if err != nil {
		return err
	}
	for _, p := range sector.Pieces(in, lags) {
		if len(p.Missing) > 0 {
			continue
		}
		if err := t.dropLags(cursorID, []window.Window{p.Window}, nil); err != nil {
			return err
		}
		settled, open := p.Window.Split(p.AsOf.Add(-lookback))
		for w, asOf := range map[window.Window]time.Time{settled: t.Now, open: p.AsOf} {
			if w.Empty() {
				continue
			}
			if err := t.advanceCursor(cursorID, ledgerEntry{
				Event: coverage.Event{Kind: coverage.Waived, Windows: []window.Window{w}, AsOf: asOf, At: t.Now}, by: by,
				key: fingerprint.Key(fmt.Sprint(cursorID), string(coverage.Waived), fmt.Sprint(t.Now.UnixMicro()), fmt.Sprint(w)),
			}); err != nil {
				return err
			}
		}
	}
	return nil
}
