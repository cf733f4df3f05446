package query

import (
	"regexp"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/window"
	names "github.com/patra-ingest/patra/internal/core/zone"
	"pgregory.net/rapid"
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

// Letters that mean something in other languages of patterns must not be sent.
func TestFilterRefusesLettersThatMeanNothing(t *testing.T) {
	for format, want := range map[string]string{
		"yyyy-MM-dd'T'HH:mm:ssZ":     "filter.format: \"yyyy-MM-dd'T'HH:mm:ssZ\" has quotes",
		"yyyy-MM-dd\"T\"HH:mm:ss":    "has quotes",
		"yyyy-MM-ddTHH:mm:ss.SSSZ":   "write a fraction as zeros, as in ss.000",
		"dd MMM yyyy HH:mm:ss":       `has "MMM"`,
		"yyyyy-MM-dd HH:mm:ss":       `has "y"`,
		"YYYY-MM-DD HH:mm:ss":        `has "Y"`,
		"yyyy-MM-dd hh:mm:ss a":      `has "h"`,
		"yyyy-MM-ddTHH:mm:ssXXX":     `has "X"`,
		"yyyy年MM月dd日 HH:mm:ss":       `has "年"`,
		"yyyy-MM-dd\nHH:mm:ss":       `has "\n"`,
		"yyyy-MM-ddTHH:mm:ss.000Z":   "",
		"[yyyy/MM/dd] HH.mm.ss+0000": "",
	} {
		err := DateFilter{Field: "x", Precision: Second, Format: format}.WithDefaults().Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", format, err, want)
		}
	}
	harmless := regexp.MustCompile(`^[0-9 TZ-]*$`)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"yyyy", "MM", "dd", "HH", "mm", "ss", "y", "D", "h", "S", "T", "Z", "a", "0", "-", " ", "'", "é", "\x00", "\xff"}))
		format := "yyyyMMdd" + strings.Join(parts.Draw(t, "parts"), "")
		f := DateFilter{Field: "x", Format: format, To: Exclusive}.WithDefaults()
		sent := f.Text(instant(t, "2025-03-04T05:06:07Z"))
		if safe := harmless.MatchString(sent); safe != (f.Validate() == nil) {
			t.Fatalf("%q sends %q, and Validate says %v", format, sent, f.Validate())
		}
	})
}

// An upper bound that is selected must not be written finer than the filter is:
// "until the 4th" as 2025-03-04T00:00:00 would leave out the 4th.
func TestBelieve10BoundIsNotWrittenFinerThanTheFilter(t *testing.T) {
	for _, tt := range []struct {
		precision Precision
		to        Bound
		format    string
		refused   bool
	}{
		{Day, Inclusive, "yyyy-MM-ddTHH:mm:ss", true},
		{Day, Exclusive, "yyyy-MM-ddTHH:mm:ss", false},
		{Day, Inclusive, "yyyy-MM-ddT23:59:59", false},
		{Minute, Inclusive, "yyyy-MM-ddTHH:mm:ssZ", true},
		{Month, "", "yyyy-MM-dd", true},
		{Second, Inclusive, "yyyy-MM-ddTHH:mm:ss", false},
	} {
		err := DateFilter{Field: "x", Precision: tt.precision, To: tt.to, Format: tt.format}.Validate()
		if (err != nil) != tt.refused {
			t.Errorf("%+v: %v", tt, err)
		}
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

func TestEpochBounds(t *testing.T) {
	w := window.Window{From: instant(t, "2025-03-01T00:00:00.5Z"), To: instant(t, "2025-03-01T00:00:02Z")}
	for _, c := range []struct {
		filter   DateFilter
		from, to string
	}{
		{DateFilter{Field: "x", Precision: Second, Format: "EPOCH"}, "1740787200", "1740787201"},
		{DateFilter{Field: "x", Precision: Second, Format: "EPOCH", From: Exclusive, To: Exclusive}, "1740787199", "1740787202"},
		{DateFilter{Field: "x", Precision: Second, Format: "EPOCH_MILLIS", To: Exclusive}, "1740787200000", "1740787202000"},
	} {
		f := c.filter.WithDefaults()
		from, to := f.Bounds(w)
		if err := f.Validate(); err != nil || f.Text(from) != c.from || f.Text(to) != c.to {
			t.Errorf("%+v: %s to %s, %v; want %s to %s", f, f.Text(from), f.Text(to), err, c.from, c.to)
		}
	}
	for _, f := range []DateFilter{
		{Field: "x", Format: "EPOCH"}, {Field: "x", Precision: Second, Format: "EPOCH", Zone: "+09:00"},
		{Field: "x", Precision: Second, Format: "EPOCH_MILLIS"}, {Field: "x", Precision: Second, Format: "EPOCH_MILLIS", From: Exclusive, To: Exclusive},
	} {
		if err := f.WithDefaults().Validate(); err == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
}
