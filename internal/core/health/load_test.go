package health

import (
	"strings"
	"testing"
	"time"
)

func TestTooMuch(t *testing.T) {
	at := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	pages := func(l *Load, n, failed, throttled int, gap time.Duration) {
		for range n {
			at = at.Add(gap)
			l.Page(failed, throttled, 10*(l.Pages+1), at)
		}
	}
	for name, c := range map[string]struct {
		story func(*Load)
		want  string
	}{
		"a quiet slice":                {func(l *Load) { pages(l, 1999, 0, 0, time.Second) }, ""},
		"a long one":                   {func(l *Load) { pages(l, 2000, 0, 0, time.Second) }, "2000 pages"},
		"bad from the start":           {func(l *Load) { pages(l, 49, 1, 0, time.Second) }, ""},
		"bad for long":                 {func(l *Load) { pages(l, 50, 1, 0, time.Second) }, "50 of the last 50"},
		"one bad page of fifty":        {func(l *Load) { pages(l, 1, 1, 0, time.Second); pages(l, 49, 0, 0, time.Second) }, ""},
		"three bad pages of fifty":     {func(l *Load) { pages(l, 3, 1, 0, time.Second); pages(l, 47, 0, 0, time.Second) }, "3 of the last 50"},
		"bad, and then better":         {func(l *Load) { pages(l, 40, 1, 0, time.Second); pages(l, 50, 0, 0, time.Second) }, ""},
		"throttled":                    {func(l *Load) { pages(l, 45, 0, 0, time.Second); pages(l, 5, 1, 1, time.Second) }, "slow down 5 times"},
		"throttled now and then":       {func(l *Load) { pages(l, 100, 1, 1, 2*time.Minute) }, ""},
		"far more than expected":       {func(l *Load) { l.Expected = 120; pages(l, 50, 0, 0, time.Second) }, "500 items where 120 were expected"},
		"a little more than expected":  {func(l *Load) { l.Expected = 130; pages(l, 50, 0, 0, time.Second) }, ""},
		"throttled, not seen as fault": {func(l *Load) { pages(l, 46, 0, 0, time.Second); pages(l, 4, 1, 1, time.Second) }, ""},
	} {
		l := &Load{}
		c.story(l)
		if named, got := l.TooMuch(); (got == "") != (named == "") || (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
