package integrity

import (
	"strings"
	"testing"
	"time"
)

// A young database needs no check yet; one that was checked needs the next one in time;
// damage that was found stays a finding until a check finds none.
func TestBelieve08WhenACheckIsDue(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	ago := func(days int) time.Time { return now.AddDate(0, 0, -days) }
	for name, c := range map[string]struct {
		last Last
		most time.Duration
		want string
	}{
		"young":               {Last{CreatedAt: ago(29)}, UsualAge, ""},
		"never checked":       {Last{CreatedAt: ago(31)}, UsualAge, "never checked"},
		"checked lately":      {Last{CreatedAt: ago(900), At: ago(29)}, UsualAge, ""},
		"checked long ago":    {Last{CreatedAt: ago(900), At: ago(31)}, UsualAge, "2026-03-31, longer than 30 days ago"},
		"no limit":            {Last{CreatedAt: ago(900)}, 0, ""},
		"damage":              {Last{CreatedAt: ago(1), At: ago(1), Found: 2}, 0, "found 2 problems"},
		"the age is not told": {Last{}, UsualAge, ""},
	} {
		got := c.last.Finding(now, c.most)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || got != "" && !strings.Contains(got, "patra db check") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestEveryKindSaysWhatNext(t *testing.T) {
	for _, k := range []Kind{Pages, Body, Head, Count, Cursor, Reject, Missing} {
		if !strings.Contains(k.Next(), "`patra") {
			t.Errorf("%s: %q", k, k.Next())
		}
	}
}
