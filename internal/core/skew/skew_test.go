package skew

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What items that lie outside tell about two clocks: items of a slice lie
// anywhere in it, so those outside lie anywhere in the difference.
func TestTypical(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to time.Duration
		stray    int // items that lie a year away
		want     string
	}{
		"an hour, slices of a day":    {0, time.Hour, 0, "about 1 h"},
		"an hour, and a few strays":   {0, time.Hour, 15, "about 1 h"},
		"three hours, slices of one":  {2 * time.Hour, 3 * time.Hour, 0, "about 3 h"},
		"half an hour":                {0, 30 * time.Minute, 0, "about 30 min"},
		"exactly ten hours":           {10 * time.Hour, 10 * time.Hour, 0, "about 10 h"},
		"rounded to a minute":         {0, time.Minute, 0, "about 1 min"},
		"at the bound":                {time.Microsecond, time.Microsecond, 0, "less than 1 s"},
		"a day":                       {24 * time.Hour, 24 * time.Hour, 0, "about 1 day"},
		"two seconds":                 {0, 2 * time.Second, 0, "about 2 s"},
		"twelve days, slices of one":  {11 * 24 * time.Hour, 12 * 24 * time.Hour, 0, "about 12 days"},
		"longer than there are sizes": {50_000 * time.Hour, 50_000 * time.Hour, 0, "about 1488 days"},
	} {
		var s Spread
		const items = 200
		for i := range items {
			s.Note(tc.from + (tc.to-tc.from)*time.Duration(i+1)/items)
		}
		for range tc.stray {
			s.Note(365 * 24 * time.Hour)
		}
		if got := About(s.Typical()); got != tc.want {
			t.Errorf("%s: %s (%v), want %s", name, got, s.Typical(), tc.want)
		}
	}
}

func TestDisagree(t *testing.T) {
	for _, tc := range []struct {
		outside, dated int64
		share          float64
		want           bool
	}{
		{63, 200, DefaultShare, true}, {7, 199, DefaultShare, true}, {0, 0, DefaultShare, false}, {2, 3, DefaultShare, false},
		{3, 3, 1, false}, {3, 1000, DefaultShare, false}, {3, 1000, 0, true},
	} {
		if got := Disagree(tc.outside, tc.dated, tc.share); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// A spread is read back as it was written, and adding forgets nothing.
func TestSpreadIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b Spread
		for _, d := range rapid.SliceOf(rapid.Int64Min(0)).Draw(t, "distances") {
			a.Note(time.Duration(d))
			b.Note(time.Duration(d) / 3)
		}
		sum := a.Add(b)
		text, err := json.Marshal(sum)
		if err != nil {
			t.Fatal(err)
		}
		var got Spread
		if err := json.Unmarshal(text, &got); err != nil || got != sum || sum.Count() != a.Count()+b.Count() {
			t.Fatalf("%s: %v", text, err)
		}
	})
	for _, bad := range []string{`{"-1":1}`, `{"217":1}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), new(Spread)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
