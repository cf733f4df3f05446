package zone

import (
	"testing"
	"time"
)

func TestOneZoneHasOneSpelling(t *testing.T) {
	for text, want := range map[string]Zone{
		"UTC": "UTC", "utc": "UTC", "Z": "UTC", "z": "UTC", "Etc/UTC": "UTC", "GMT": "UTC", "+00:00": "UTC", "-00:00": "UTC", "+0": "UTC", " UTC ": "UTC",
		"+9": "+09:00", "+09:00": "+09:00", "+0900": "+09:00", "-3:30": "-03:30", "-0330": "-03:30",
		"Europe/London": "Europe/London", "America/Argentina/Buenos_Aires": "America/Argentina/Buenos_Aires", "Etc/GMT+5": "Etc/GMT+5",
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if again, err := Parse(string(got)); err != nil || again != got {
			t.Errorf("%q is not read back: %q, %v", got, again, err)
		}
	}
}

func TestStrangersAreRefused(t *testing.T) {
	for _, text := range []string{"", "Local", "local", "europe/london", "EUROPE/LONDON", "Mars/Olympus", "+25:00", "+09:60", "+", "../etc/passwd", "Europe/../Europe/London", "9"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q was read as %q", text, got)
		}
	}
}

func TestLocation(t *testing.T) {
	at := time.Date(2025, 7, 1, 12, 0, 0, 0, time.UTC)
	for zone, want := range map[Zone]string{
		"": "12:00", "UTC": "12:00", "+09:00": "21:00", "-03:30": "08:30", "Europe/London": "13:00", "America/New_York": "08:00",
	} {
		where, err := zone.Location()
		if err != nil {
			t.Fatal(err)
		}
		if got := at.In(where).Format("15:04"); got != want {
			t.Errorf("%q: %s, want %s", zone, got, want)
		}
	}
	if _, err := Zone("Mars/Olympus").Location(); err == nil {
		t.Error("a zone that does not exist has a location")
	}
}
