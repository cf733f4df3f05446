package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// CursorStore is what operating on watermarks needs of the store.
type CursorStore interface {
	SetCursor(ctx context.Context, id int64, to time.Time, by ingest.Act) (view.CursorSet, error)
	RepairCursor(ctx context.Context, id int64, by ingest.Act) (view.Repair, error)
	WaiveCoverage(ctx context.Context, cursorID int64, within window.Window, by ingest.Act) (view.Waived, error)
	WaiveSector(ctx context.Context, cursorID int64, name string, within window.Window, by ingest.Act) (view.Waived, error)
	Readings(ctx context.Context, cursorID, before int64, limit int) ([]view.WholeReading, error)
	AcceptGeneration(ctx context.Context, id int64, by ingest.Act) (view.ReadingAccepted, error)
}

// Cursors acts on watermarks for people. Each act needs a reason: a watermark that
// somebody moved is the first thing a hole is blamed on.
type Cursors struct{ store CursorStore }

// NewCursors makes one.
func NewCursors(s CursorStore) *Cursors { return &Cursors{s} }

// Set begins the book of a watermark anew at a value, or at none (D§5.8).
func (c *Cursors) Set(ctx context.Context, id int64, to time.Time, by ingest.Act) (view.CursorSet, error) {
	by, err := checkSigned(by, true)
	if err != nil {
		return view.CursorSet{}, err
	}
	return c.store.SetCursor(ctx, id, to, by)
}

// Repair makes a watermark and its coverage what the ledger gives (C§4).
func (c *Cursors) Repair(ctx context.Context, id int64, by ingest.Act) (view.Repair, error) {
	by, err := checkSigned(by, true)
	if err != nil {
		return view.Repair{}, err
	}
	return c.store.RepairCursor(ctx, id, by)
}

// Waive accepts that what is not read of a window stays unread (D§5.7).
func (c *Cursors) Waive(ctx context.Context, id int64, within window.Window, by ingest.Act) (view.Waived, error) {
	by, err := checkSigned(by, true)
	if err != nil {
		return view.Waived{}, err
	}
	return c.store.WaiveCoverage(ctx, id, within, by)
}

// WaiveSector accepts that one part of a list stays unread where it lags behind the others (D§5.26).
func (c *Cursors) WaiveSector(ctx context.Context, id int64, partition string, within window.Window, by ingest.Act) (view.Waived, error) {
	by, err := checkSigned(by, true)
	if err != nil {
		return view.Waived{}, err
	}
	return c.store.WaiveSector(ctx, id, partition, within, by)
}

// mostBroken is how many readings that did not come to their end may stand before the one that
// waits to be accepted.
const mostBroken = 100

// Accept takes the newest reading of a whole list for the list as it is, where it is SHRUNK
// (D§5.26). Readings that did not come to their end are passed over.
func (c *Cursors) Accept(ctx context.Context, cursorID int64, by ingest.Act) (done view.ReadingAccepted, err error) {
	if by, err = checkSigned(by, true); err != nil {
		return done, err
	}
	found, err := c.store.Readings(ctx, cursorID, 0, mostBroken)
	if err != nil {
		return done, err
	}
	newest, waits := view.ReadingThatWaits(found)
	switch {
	case newest.ID == 0:
		return done, fmt.Errorf("cursor %d has no reading of a whole list that came to its end: %w", cursorID, fault.ErrNotFound)
	case !waits:
		return done, fmt.Errorf("no reading of cursor %d waits to be accepted: the newest one, as of %s, is %s: %w", cursorID, wording.DateOrSecond(newest.AsOf), newest.State, fault.ErrNotFound)
	}
	done, err = c.store.AcceptGeneration(ctx, newest.ID, by)
	done.Last, done.LastKept = newest.Last, newest.LastKept
	return done, err
}
