package tmpl

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What a pattern writes, the same pattern reads, to its own precision.
func TestPatternsReadWhatTheyWrite(t *testing.T) {
	precisions := map[string]time.Duration{
		"yyyyMMdd": 24 * time.Hour, "yyyy-MM-dd": 24 * time.Hour, "d MMM yyyy": 24 * time.Hour, "MMMM d, yyyy": 24 * time.Hour,
		"yyyy-MM-ddTHH:mmZ": time.Minute, "HHmmss yyyyMMdd": time.Second, "yyyy-MM-dd'T'HH:mm:ssXXX": time.Second,
		"EEE, dd MMM yyyy HH:mm:ss XX": time.Second, "yyyy/M/d h:mm:ss a": time.Second, "yyyy'年'MM'月'dd": 24 * time.Hour,
		"yyyy-MM-ddTHH:mm:ss.SSSXXX": time.Millisecond, "yyyy-MM-dd HH:mm:ss,SSSSSS": time.Microsecond,
	}
	for text, precision := range precisions {
		p, err := parsePattern(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			at := time.Unix(rapid.Int64Range(-2e9, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")).UTC()
			written, err := formatDateTime([]any{at, p})
			if err != nil {
				t.Fatal(err)
			}
			read, err := parseDate([]any{written, p})
			if err != nil || !read.(time.Time).Equal(at.Truncate(precision)) {
				t.Fatalf("%s wrote %v as %s and read %v, %v", text, at, written, read, err)
			}
		})
	}
}

func TestPatternsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":              "empty",
		"yyyyy":         "yyyyy has no meaning",
		"YYYY-MM-dd":    "YYYY has no meaning",
		"yyyy-MM-DD":    "DD has no meaning",
		"dd at HH":      "quotes",
		"yyyy 'open":    "not closed",
		"SSS":           "point or comma",
		"ss SSS":        "point or comma",
		"Ms":            "separator",
		"yyyy-01":       "cannot stand",
		"yyyy '2006'":   "cannot stand",
		"yyyy 'Jan'":    "cannot stand",
		"yyyy 'MST'":    "cannot stand",
		"yyyy _d":       "cannot stand",
		"yyyy 'PM'":     "cannot stand",
		"yyyy-MM-dd zz": "zz has no meaning",
	} {
		if p, err := parsePattern(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, p, err, want)
		}
	}
}
