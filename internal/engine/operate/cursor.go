package operate

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// CursorStore is what operating on watermarks needs of the store.
type CursorStore interface {
	SetCursor(ctx context.Context, id int64, to time.Time, by ingest.Act) (view.CursorSet, error)
	RepairCursor(ctx context.Context, id int64, by ingest.Act) (view.Repair, error)
	WaiveCoverage(ctx context.Context, cursorID int64, within window.Window, by ingest.Act) (view.Waived, error)
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

// Accept takes a reading of a whole list that is SHRUNK for the list as it is (D§5.26).
func (c *Cursors) Accept(ctx context.Context, reading int64, by ingest.Act) (view.ReadingAccepted, error) {
	by, err := checkSigned(by, true)
	if err != nil {
		return view.ReadingAccepted{}, err
	}
	return c.store.AcceptGeneration(ctx, reading, by)
}
