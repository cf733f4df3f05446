package tmpl

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/zone"
)

// pattern is a date pattern such as yyyy-MM-dd as a layout of the time package.
type pattern struct{ text, layout string }

// dateLetters: each run of one letter has one meaning; other runs are refused.
var dateLetters = map[string]string{
	"yyyy": "2006", "yy": "06", "MM": "01", "M": "1", "MMM": "Jan", "MMMM": "January",
	"dd": "02", "d": "2", "EEE": "Mon", "EEEE": "Monday", "HH": "15", "hh": "03", "h": "3", "a": "PM",
	"mm": "04", "m": "4", "ss": "05", "s": "5", "SSS": "000", "SSSSSS": "000000", "SSSSSSSSS": "000000000",
	"XXX": "Z07:00", "XX": "Z0700", "X": "Z07",
	"T": "T", "Z": "Z", // may stand without quotes: they mean themselves
}

func parsePattern(from string) (*pattern, error) {
	if from == "" {
		return nil, errors.New("the date pattern is empty")
	}
	var layout, separate strings.Builder
	for rest := from; rest != ""; {
		element, length, err := dateElement(rest)
		if err != nil {
			return nil, fmt.Errorf("date pattern %q: %w", from, err)
		}
		if strings.HasPrefix(element, "000") && !strings.HasSuffix(layout.String(), ".") && !strings.HasSuffix(layout.String(), ",") {
			return nil, fmt.Errorf("date pattern %q: a fraction (SSS) must follow a point or comma", from)
		}
		layout.WriteString(element)
		if strings.HasPrefix(element, "000") {
			separate.WriteString(strings.TrimPrefix(oddInstant.Format("."+element), "."))
		} else {
			separate.WriteString(oddInstant.Format(element))
		}
		rest = rest[length:]
	}
	// The layouts of the time package are not marked off from plain text, so two
	// neighbours may read as a third: M and s as 15, the hour.
	if separate.String() != oddInstant.Format(layout.String()) {
		return nil, fmt.Errorf("date pattern %q: put a separator between its parts", from)
	}
	return &pattern{from, layout.String()}, nil
}

// oddInstant and oddMorning differ from the reference time of layouts in every part.
var (
	oddInstant = time.Date(2047, 11, 23, 19, 38, 56, 789_123_456, time.FixedZone("", 5*3600+30*60))
	oddMorning = oddInstant.Add(-12 * time.Hour)
)

// dateElement reads one element: a run of letters, a quoted text or a character.
func dateElement(from string) (layout string, length int, err error) {
	switch c := from[0]; {
	case c == '\'':
		end := strings.IndexByte(from[1:], '\'')
		if end < 0 {
			return "", 0, errors.New("a quote (') is not closed")
		}
		literal := from[1 : 1+end]
		if literal == "" {
			literal = "'"
		}
		return literal, end + 2, plainText(literal)
	case isLetter(c):
		run := len(from) - len(strings.TrimLeft(from, string(c)))
		layout, known := dateLetters[from[:run]]
		if !known {
			return "", 0, fmt.Errorf("%s has no meaning: use yyyy MM dd HH mm ss SSS MMM MMMM EEE hh a XXX, and quotes ('at') around plain text", from[:run])
		}
		return layout, run, nil
	default:
		return from[:1], 1, plainText(from[:1])
	}
}

// plainText refuses text that the time package would take for a part of a date.
func plainText(literal string) error {
	if oddInstant.Format(literal) != literal || oddMorning.Format(literal) != literal || strings.ContainsAny(literal, "0123456789_") {
		return fmt.Errorf("%q cannot stand in a date pattern", literal)
	}
	return nil
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func parseZone(name string) (*time.Location, error) {
	parsed, err := zone.Parse(name)
	if err != nil {
		return nil, err
	}
	return parsed.Location()
}

func parseSpan(from string) (time.Duration, error) {
	unsigned, negative := strings.CutPrefix(from, "-")
	d, err := duration.Parse(unsigned)
	if err != nil {
		return 0, err
	}
	if negative {
		return -d.Std(), nil
	}
	return d.Std(), nil
}

func boundRegex(from string) error {
	parsed, err := syntax.Parse(from, syntax.Perl)
	if err != nil {
		return fmt.Errorf("pattern %q: %w", from, err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return fmt.Errorf("pattern %q: %w", from, err)
	}
	if len(program.Inst) > maxRegexSteps {
		return fmt.Errorf("pattern %q is too costly: use smaller repeat counts", from)
	}
	return nil
}
