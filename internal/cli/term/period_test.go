package term

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

func TestPeriod(t *testing.T) {
	now := time.Date(2025, 3, 10, 12, 0, 0, 0, time.UTC)
	usual := window.Window{From: march(8), To: march(9)}
	for _, c := range []struct {
		WindowFlags
		want string
	}{
		{WindowFlags{}, "[2025-03-08, 2025-03-09)"},
		{WindowFlags{both: "2025-03-01..2025-03-02"}, "[2025-03-01, 2025-03-02)"},
		{WindowFlags{both: "2025-03-01T02:00:00+02:00..2025-03-01T12:00:00Z"}, "[2025-03-01, 2025-03-01T12:00:00Z)"},
		{WindowFlags{both: "-2d..-1d"}, "[2025-03-08T12:00:00Z, 2025-03-09T12:00:00Z)"},
		{WindowFlags{from: "2025-03-01"}, "[2025-03-01, 2025-03-09)"},
		{WindowFlags{to: "2025-03-05"}, "[2025-03-04, 2025-03-05)"},
		{WindowFlags{from: "2025-03-01", to: "2025-03-05"}, "[2025-03-01, 2025-03-05)"},
	} {
		if got, err := c.Choose(usual, now); err != nil || wording.WindowText(got) != c.want {
			t.Errorf("%+v: %s, %v", c.WindowFlags, wording.WindowText(got), err)
		}
	}
	for _, bad := range []WindowFlags{
		{both: "2025-03-01"}, {both: "..2025-03-01"}, {both: "2025-03-01.."}, {both: "a..b"}, {both: "2025-03-01..2025-03-01"}, {from: "2025-03-09"},
		{both: "2025-03-01..2025-03-02", to: "2025-03-03"}, {from: "x"}, {to: "x"},
	} {
		if got, err := bad.Choose(usual, now); err == nil || ExitCode(t.Context(), err) != ExitUsage {
			t.Errorf("%+v: %s, %v", bad, got, err)
		}
	}
}
