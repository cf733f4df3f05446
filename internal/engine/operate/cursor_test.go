package operate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// ledger notes who acted.
type ledger struct {
	by       []ingest.Act
	readings []view.WholeReading
}

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

func (l *ledger) WaiveSector(_ context.Context, _ int64, _ string, _ window.Window, by ingest.Act) (view.Waived, error) {
	l.by = append(l.by, by)
	return view.Waived{CursorID: 7}, nil
}

func (l *ledger) AcceptGeneration(_ context.Context, _ int64, by ingest.Act) (view.ReadingAccepted, error) {
	l.by = append(l.by, by)
	return view.ReadingAccepted{ID: 7}, nil
}

func (l *ledger) Readings(context.Context, int64, int64, int) ([]view.WholeReading, error) {
	return l.readings, nil
}

// TestOnlyTheNewestReadingIsAccepted tries what may stand before a reading that waits.
func TestOnlyTheNewestReadingIsAccepted(t *testing.T) {
	shrunk, whole, broken := view.WholeReading{ID: 7, State: generation.Shrunk}, view.WholeReading{ID: 8, State: generation.Complete}, view.WholeReading{ID: 9, State: generation.Broken}
	for name, c := range map[string]struct {
		readings []view.WholeReading
		refused  string
	}{
		"waits":                   {[]view.WholeReading{shrunk, whole}, ""},
		"a broken one after it":   {[]view.WholeReading{broken, shrunk, whole}, ""},
		"a complete one after it": {[]view.WholeReading{whole, shrunk}, "waits to be accepted: the newest one"},
		"none came to its end":    {[]view.WholeReading{broken}, "no reading of a whole list that came to its end"},
		"none at all":             {nil, "no reading of a whole list that came to its end"},
	} {
		l := &ledger{readings: c.readings}
		_, err := NewCursors(l).Accept(t.Context(), 1, ingest.Act{Actor: "me", Reason: "why"})
		if c.refused == "" && (err != nil || len(l.by) != 1) || c.refused != "" && (!errors.Is(err, fault.ErrNotFound) || !strings.Contains(err.Error(), c.refused) || len(l.by) > 0) {
			t.Errorf("%s: %v, %d accepted", name, err, len(l.by))
		}
	}
}

func TestCursorsAreSigned(t *testing.T) {
	l := &ledger{readings: []view.WholeReading{{ID: 7, State: generation.Shrunk}}}
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
