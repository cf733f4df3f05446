package operate

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// ledger notes who acted.
type ledger struct{ by []ingest.Act }

func (l *ledger) SetCursor(_ context.Context, _ int64, _ time.Time, by ingest.Act) (view.CursorSet, error) {
	l.by = append(l.by, by)
	return view.CursorSet{Changed: true}, nil
}

func (l *ledger) RepairCursor(_ context.Context, _ int64, by ingest.Act) (view.Repair, error) {
	l.by = append(l.by, by)
	return view.Repair{Changed: true}, nil
}

func (l *ledger) WaiveCoverage(_ context.Context, _ int64, _ window.Window, by ingest.Act) (view.Waived, error) {
	l.by = append(l.by, by)
	return view.Waived{CursorID: 7}, nil
}

func (l *ledger) AcceptGeneration(_ context.Context, _ int64, by ingest.Act) (view.ReadingAccepted, error) {
	l.by = append(l.by, by)
	return view.ReadingAccepted{ID: 7}, nil
}

func TestCursorsAreSigned(t *testing.T) {
	l := &ledger{}
	c := NewCursors(l)
	acts := func(by ingest.Act) (out []error) {
		_, set := c.Set(t.Context(), 1, time.Time{}, by)
		_, repaired := c.Repair(t.Context(), 1, by)
		_, waived := c.Waive(t.Context(), 1, window.Window{}, by)
		_, accepted := c.Accept(t.Context(), 1, by)
		return []error{set, repaired, waived, accepted}
	}
	for _, err := range acts(ingest.Act{Actor: "me"}) {
		if !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("without a reason: %v", err)
		}
	}
	if len(l.by) > 0 {
		t.Errorf("the store was asked without a reason: %+v", l.by)
	}
	for _, err := range acts(ingest.Act{Reason: "why"}) {
		if err != nil {
			t.Error(err)
		}
	}
	for _, by := range l.by {
		if by.Actor != "unknown" || by.Reason != "why" {
			t.Errorf("%+v", by)
		}
	}
}
