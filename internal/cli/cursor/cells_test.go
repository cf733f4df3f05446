package cursor

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

func TestHistoryCells(t *testing.T) {
	odd := window.Window{From: time.Date(2025, 3, 1, 11, 30, 15, 0, time.UTC), To: march(2)}
	for _, c := range []struct {
		windows []window.Window
		want    string
	}{
		{nil, "-"},
		{[]window.Window{{From: march(1), To: march(2)}}, "[2025-03-01, 2025-03-02)"},
		{[]window.Window{odd, odd, odd}, "[2025-03-01T11:30Z,\n 2025-03-02)\nand 2 more"},
	} {
		if got := firstWindow(c.windows); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for _, c := range []struct {
		event view.CursorEvent
		want  string
	}{
		{view.CursorEvent{}, "stays -"},
		{view.CursorEvent{New: "2025-03-01T00:00:00Z", Moved: true}, "- → 2025-03-01"},
		{view.CursorEvent{Prev: "2025-03-01T11:30:15.5Z", New: "2025-03-02T11:30:15.5Z", Moved: true}, "2025-03-01T11:30:15Z\n→ 2025-03-02T11:30:15Z"},
	} {
		if got := moveText(c.event); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := whoText(view.CursorEvent{Lineage: ingest.Lineage{PlanID: 1, SliceID: 22, TaskID: 333}}); got != "1/22/333/-" {
		t.Error(got)
	}
	if got := whoText(view.CursorEvent{Actor: "ann", Reason: "moved"}); got != "ann: moved" {
		t.Error(got)
	}
}
