package query

import (
	"strings"
	"testing"
	"time"
)

// Some upstreams name a month 1 and not 01, mostly in a path.
func TestBoundsWithoutLeadingZeros(t *testing.T) {
	for _, tc := range []struct {
		precision Precision
		format    string
		want      string // of 5 March 2024, 07:08:09
	}{
		{Month, "yyyy/M", "2024/3"},
		{Month, "yyyy/MM", "2024/03"},
		{Day, "M/d/yyyy", "3/5/2024"},
		{Hour, "yyyy-M-d H", "2024-3-5 7"},
		{Second, "d.M.yyyy HH:mm:ss", "5.3.2024 07:08:09"},
	} {
		f := DateFilter{Field: "x", Precision: tc.precision, To: Exclusive, Format: tc.format}.WithDefaults()
		if err := f.Validate(); err != nil {
			t.Errorf("%s: %v", tc.format, err)
		}
		if got := f.Text(time.Date(2024, 3, 5, 7, 8, 9, 0, time.UTC)); got != tc.want {
			t.Errorf("%s writes %s, want %s", tc.format, got, tc.want)
		}
	}
}

func TestFormatsThatCannotBeReadBackAreRefused(t *testing.T) {
	for _, tc := range []struct {
		precision    Precision
		format, want string
	}{
		{Day, "yyyyMd", "without a character between them"},
		{Day, "yyyyMMd", "without a character between them"},
		{Day, "yyyy-M1-dd", "without a character between them"},
		{Day, "yyyy-M", "does not write dd"},
		{Month, "yyyy-M-d", "writes dd"}, // the upper bound would be the first day of the month
		{Day, "yyyy-M-D", `"D"`},
	} {
		f := DateFilter{Field: "x", Precision: tc.precision, Format: tc.format}.WithDefaults()
		if err := f.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.format, err, tc.want)
		}
	}
}
