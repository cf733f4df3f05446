package extract

import (
	"fmt"
	"strings"
)

// elements are what a pattern of dateFormats may hold, longest first where one
// begins like another.
var elements = []struct {
	pattern, layout string
	unit            unit
}{
	{"yyyy", "2006", year}, {"MMMM", "January", month}, {"MMM", "Jan", month}, {"MM", "01", month}, {"M", "1", month},
	{"dd", "02", day}, {"d", "2", day}, {"HH", "15", hour}, {"mm", "04", minute}, {"ss", "05", instant},
	{"EEE", "Mon", year}, {"XXX", "Z07:00", year}, {"XX", "Z0700", year}, {"Z", "Z07:00", year}, {"T", "T", year},
}

// parseFormat translates a pattern such as dd.MM.yyyy HH:mm. Letters that are
// not elements are refused, because the library would take some for its own.
func parseFormat(pattern string) (format, error) {
	var layout strings.Builder
	f := format{unit: year}
	given := map[unit]bool{}
	for rest := pattern; rest != ""; {
		if rest[0] == 'S' {
			digits := len(rest) - len(strings.TrimLeft(rest, "S"))
			if text := layout.String(); !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, ",") {
				return format{}, fmt.Errorf("pattern %q: a fraction (S) must stand behind a point", pattern)
			}
			layout.WriteString(strings.Repeat("0", digits))
			rest = rest[digits:]
			continue
		}
		taken, err := parseElement(rest, &layout, &f, given)
		if err != nil {
			return format{}, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		rest = rest[taken:]
	}
	for u := f.unit; u <= year; u++ {
		if !given[u] {
			return format{}, fmt.Errorf("pattern %q: needs yyyy, and every part down to the smallest it names", pattern)
		}
	}
	if f.layout = layout.String(); f.unit >= day && strings.Contains(f.layout, "Z07") {
		return format{}, fmt.Errorf("pattern %q: a zone needs a time of day", pattern)
	}
	return f, nil
}

func parseElement(rest string, layout *strings.Builder, f *format, given map[unit]bool) (taken int, err error) {
	for _, e := range elements {
		if strings.HasPrefix(rest, e.pattern) {
			if e.pattern == "yyyy" || e.unit != year {
				given[e.unit] = true
			}
			layout.WriteString(e.layout)
			f.unit = min(f.unit, e.unit)
			return len(e.pattern), nil
		}
	}
	if c := rest[0]; c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' {
		return 0, fmt.Errorf("%q is not part of a date: use yyyy MM MMM dd HH mm ss SSS XXX and punctuation", rest)
	}
	layout.WriteByte(rest[0])
	return 1, nil
}
