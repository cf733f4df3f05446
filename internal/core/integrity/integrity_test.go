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
		want State
	}{
		"young":               {Last{CreatedAt: ago(29)}, UsualAge, Checked},
		"never checked":       {Last{CreatedAt: ago(31)}, UsualAge, NeverChecked},
		"checked lately":      {Last{CreatedAt: ago(900), At: ago(29)}, UsualAge, Checked},
		"checked long ago":    {Last{CreatedAt: ago(900), At: ago(31)}, UsualAge, TooOld},
		"no limit":            {Last{CreatedAt: ago(900)}, 0, Checked},
		"damage":              {Last{CreatedAt: ago(1), At: ago(1), Found: 2}, 0, Damaged},
		"the age is not told": {Last{}, UsualAge, Checked},
	} {
		if got := c.last.State(now, c.most); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
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
