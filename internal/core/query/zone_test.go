package query

import (
	"testing"

	names "github.com/patra-ingest/patra/internal/core/zone"
)

func TestZoneSpellings(t *testing.T) {
	for text, want := range map[string]string{
		"": "UTC", "utc": "UTC", "Z": "UTC", "Etc/UTC": "UTC", "+00:00": "UTC", "-00:00": "UTC", "gmt": "UTC", "+0": "UTC",
		"+09:00": "+09:00", "+9": "+09:00", "-0330": "-03:30", "Asia/Kolkata": "Asia/Kolkata", " Asia/Kolkata ": "Asia/Kolkata",
	} {
		f := DateFilter{Field: "x", Zone: names.Zone(text)}.WithDefaults()
		if f.Zone != names.Zone(want) {
			t.Errorf("%q: got %q, want %q", text, f.Zone, want)
		}
		if err := f.Validate(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"Local", "Mars/Olympus", "asia/kolkata", "+25:00", "+09:70", "../../etc/passwd", "America/../Asia/Tokyo"} {
		if err := (DateFilter{Field: "x", Zone: names.Zone(text)}).WithDefaults().Validate(); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestFilterRefusesAFormatThatSaysLess(t *testing.T) {
	for _, f := range []DateFilter{
		{Field: "x", Format: "yyyy-MM"}, {Field: "x", Precision: Second, Format: "yyyy-MM-dd HH:mm"},
		{Field: "x", Precision: Second, Zone: "+09:00", Format: "yyyy-MM-ddTHH:mm:ssZ"}, {},
	} {
		if err := f.WithDefaults().Validate(); err == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
	if err := (DateFilter{Field: "x", Format: "yyyy/MM/dd"}).WithDefaults().Validate(); err != nil {
		t.Error(err)
	}
}

func TestFormats(t *testing.T) {
	at := instant(t, "0999-03-04T05:06:07Z").AddDate(26, 0, 0)
	for format, want := range map[string]string{
		"yyyy-MM-ddTHH:mm:ssZ": "1025-03-04T05:06:07Z", "yyyyMMdd": "10250304", "dd/MM/yyyy": "04/03/1025",
		"é yyyy Jan 2": "é 1025 Jan 2", "HHmmss": "050607", "yyy": "yyy", "": "",
	} {
		if got := (DateFilter{Format: format}).Text(at); got != want {
			t.Errorf("%q: got %q, want %q", format, got, want)
		}
	}
}
