package window_test

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

func TestWindowOfAReading(t *testing.T) {
	now := time.Date(2025, 3, 5, 12, 0, 0, 0, time.UTC)
	at := func(hours int) *time.Time { t := now.Add(time.Duration(hours) * time.Hour); return &t }
	for name, c := range map[string]struct {
		in     window.WholeInputs
		owed   bool
		from   time.Time
		reason string
	}{
		"the first":            {window.WholeInputs{}, true, *at(-24), ""},
		"since the last":       {window.WholeInputs{Cursor: at(-100)}, true, *at(-100), ""},
		"asked for early":      {window.WholeInputs{Cursor: at(-1)}, true, *at(-1), ""},
		"due":                  {window.WholeInputs{Cursor: at(-24), Due: now}, true, *at(-24), ""},
		"due in a few seconds": {window.WholeInputs{Cursor: at(-24), Due: now.Add(30 * time.Second)}, true, *at(-24), ""},
		"not due":              {window.WholeInputs{Cursor: at(-1), Due: *at(23)}, false, *at(-1), "the next reading is due at 2025-03-06T11:00:00Z"},
		"waits for a retry":    {window.WholeInputs{Cursor: at(-30), Waiting: true}, false, *at(-30), "its next try is not due yet"},
		"a clock set back":     {window.WholeInputs{Cursor: at(1)}, false, now, "is not before now"},
	} {
		c.in.Now, c.in.Every = now, 24*time.Hour
		got, err := window.Whole(c.in)
		if err != nil || (len(got.Owed) == 1) != c.owed || !got.Window.From.Equal(c.from) || !got.Window.To.Equal(now) || !got.NowSafe.Equal(now) || !strings.Contains(got.Reason, c.reason) || c.owed != (got.Reason == "") {
			t.Errorf("%s: %+v %v", name, got, err)
		}
		if whole := len(got.Owed) + len(got.Skipped) + len(got.Waiting); whole != 1 && !got.Empty {
			t.Errorf("%s: the parts do not tile the window: %+v", name, got)
		}
	}
	if _, err := window.Whole(window.WholeInputs{Now: now, Every: time.Hour, UserFrom: at(-2)}); err == nil || !strings.Contains(err.Error(), "leave out --from and --to") {
		t.Errorf("%v", err)
	}
}
