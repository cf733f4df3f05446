package gate

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestHours(t *testing.T) {
	for _, c := range []struct{ hours, now, opens string }{
		{"", "2025-03-10T12:00:00Z", "2025-03-10T12:00:00Z"},
		{"21:00-05:00 America/New_York", "2025-01-10T12:00:00Z", "2025-01-11T02:00:00Z"}, // 07:00 there
		{"21:00-05:00 America/New_York", "2025-07-10T12:00:00Z", "2025-07-11T01:00:00Z"}, // summer time
		{"21:00-05:00 America/New_York", "2025-01-10T09:59:59Z", "2025-01-10T09:59:59Z"}, // 04:59:59 there
		{"21:00-05:00 America/New_York", "2025-01-10T10:00:00Z", "2025-01-11T02:00:00Z"},
		{"09:00-17:00", "2025-01-10T17:00:00Z", "2025-01-11T09:00:00Z"},
		{"09:00-24:00", "2025-01-10T23:59:59Z", "2025-01-10T23:59:59Z"},
		{"22:00-06:00 +09:00", "2025-01-10T12:30:10Z", "2025-01-10T13:00:00Z"},
		{"02:15-02:45 America/New_York", "2025-03-09T06:50:00Z", "2025-03-10T06:15:00Z"},          // that half hour is left out
		{"21:00-05:00, Sat-Sun America/New_York", "2025-01-10T17:00:00Z", "2025-01-11T02:00:00Z"}, // Friday noon there
		{"21:00-05:00, Sat-Sun America/New_York", "2025-01-11T17:00:00Z", "2025-01-11T17:00:00Z"}, // Saturday noon
		{"21:00-05:00, Sat-Sun America/New_York", "2025-01-13T09:59:00Z", "2025-01-13T09:59:00Z"}, // the night to Monday
		{"21:00-05:00, Sat-Sun America/New_York", "2025-01-13T10:00:00Z", "2025-01-14T02:00:00Z"},
		{"Mon-Fri 21:00-05:00, Sat-Sun", "2025-01-13T00:00:00Z", "2025-01-13T21:00:00Z"}, // the night of Sunday is not named
		{"Mon-Fri 21:00-05:00", "2025-01-11T04:59:00Z", "2025-01-11T04:59:00Z"},          // the night of Friday ends on Saturday
		{"Mon-Fri 21:00-05:00", "2025-01-11T05:00:00Z", "2025-01-13T21:00:00Z"},
		{"Sun", "2025-01-13T00:00:00Z", "2025-01-19T00:00:00Z"},
		{"Fri-Mon 09:00-10:00 +02:00", "2025-01-14T00:00:00Z", "2025-01-17T07:00:00Z"},
		{"Mon 02:15-02:45, Sun 02:15-02:45 America/New_York", "2025-03-09T06:50:00Z", "2025-03-10T06:15:00Z"},
	} {
		h, err := ParseHours(c.hours)
		if err != nil {
			t.Fatal(err)
		}
		now, _ := time.Parse(time.RFC3339, c.now)
		if got := h.NextOpen(now).UTC().Format(time.RFC3339); got != c.opens {
			t.Errorf("%s at %s: opens %s, want %s", c.hours, c.now, got, c.opens)
		}
	}
	for _, text := range []string{"21:00", "21-05", "9:00-25:00", "09:00-09:00", "21:00-05:00 Mars", "21:00–05:00", "-", ",", "21:00-05:00,", "Sat-Sun,, Mon", "Saturday",
		"mon-fri 21:00-05:00", "21:00-05:00 Sat-Sun", "Mon-Fri America/New_York 21:00-05:00", "Sat UTC, Sun", "Mon-Moon", "UTC"} {
		if _, err := ParseHours(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestHoursLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := time.Duration(rapid.IntRange(0, 1439).Draw(t, "from")) * time.Minute
		to := time.Duration(rapid.IntRange(0, 1439).Draw(t, "to")) * time.Minute
		zone, _ := time.LoadLocation(rapid.SampledFrom([]string{"UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"}).Draw(t, "zone"))
		if from == to {
			return
		}
		var days [7]bool
		days[rapid.IntRange(0, 6).Draw(t, "day")] = true
		for i := range days {
			days[i] = days[i] || rapid.Bool().Draw(t, "another")
		}
		h := Hours{spans: []span24{{from, to, days}}, zone: zone}
		now := t0.Add(time.Duration(rapid.Int64Range(0, int64(365*24*time.Hour)).Draw(t, "now")))
		at := h.NextOpen(now)
		if at.Before(now) || !h.Open(at) || at.Sub(now) > 14*24*time.Hour {
			t.Fatalf("%v at %v opens at %v", h, now, at)
		}
		if before := at.Add(-time.Second); at.After(now) && !before.Before(now) && h.Open(before) {
			t.Fatalf("%v was open before %v", h, at)
		}
	})
}
