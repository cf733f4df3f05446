package duration

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// form is one spelling: its unit designators from the largest to the smallest.
type form []unit

type unit struct {
	name     string
	size     Duration
	fraction bool // digits after a point are allowed
}

func isoDateForm() form { return form{{name: "W", size: Week}, {name: "D", size: Day}} }

func isoTimeForm() form {
	return form{
		{name: "H", size: Duration(time.Hour)},
		{name: "M", size: Duration(time.Minute)},
		{name: "S", size: Duration(time.Second), fraction: true},
	}
}

func shortForm() form {
	return form{
		{name: "w", size: Week},
		{name: "d", size: Day},
		{name: "h", size: Duration(time.Hour)},
		{name: "m", size: Duration(time.Minute)},
		{name: "s", size: Duration(time.Second)},
		{name: "ms", size: Duration(time.Millisecond)},
	}
}

// ErrNegative: no length of time is below zero.
var ErrNegative = errors.New("cannot be negative")

// Parse reads ISO-8601 (PT10M, P1D, P2W, PT1H30M, PT0.5S) or short text (10m, 1d, 2w, 1h30m, 500ms).
func Parse(text string) (Duration, error) {
	d, err := parseText(text)
	if err != nil {
		return 0, fmt.Errorf("duration %q: %w; expected ISO-8601 such as PT10M, P1D, PT1H30M or short such as 10m, 1d, 1h30m", text, err)
	}
	return d, nil
}

func parseText(text string) (Duration, error) {
	switch {
	case text == "":
		return 0, errors.New("is empty")
	case text[0] == '-':
		return 0, ErrNegative
	case text[0] == 'P':
		return parseISO(text[1:])
	default:
		return shortForm().readPairs(text)
	}
}

func parseISO(text string) (Duration, error) {
	date, clock, hasClock := strings.Cut(text, "T")
	if date == "" && !hasClock {
		return 0, errors.New("has no number after P")
	}
	var total Duration
	if date != "" {
		if strings.ContainsAny(date, "YM") {
			return 0, errors.New("years and months have no fixed length, write days (minutes come after a T)")
		}
		days, err := isoDateForm().readPairs(date)
		if err != nil {
			return 0, err
		}
		total = days
	}
	if !hasClock {
		return total, nil
	}
	if clock == "" {
		return 0, errors.New("has no number after T")
	}
	hours, err := isoTimeForm().readPairs(clock)
	if err != nil {
		return 0, err
	}
	return addDurations(total, hours)
}

// readPairs sums number-unit pairs. Units must shrink from left to right, so that one length cannot hide a repeated unit.
func (f form) readPairs(text string) (Duration, error) {
	var total Duration
	for rest := text; rest != ""; {
		number, after := splitSpan(rest, isNumeric)
		name, next := splitSpan(after, isLetter)
		if number == "" {
			return 0, fmt.Errorf("has no number before %q", rest)
		}
		if name == "" {
			return 0, fmt.Errorf("has no unit after %q", number)
		}
		at := f.unitIndex(name)
		if at < 0 {
			return 0, fmt.Errorf("has an unknown, repeated or misplaced unit %q", name)
		}
		part, err := f[at].multiplyUnit(number)
		if err != nil {
			return 0, err
		}
		if total, err = addDurations(total, part); err != nil {
			return 0, err
		}
		f, rest = f[at+1:], next
	}
	return total, nil
}

func (f form) unitIndex(name string) int {
	for i, u := range f {
		if u.name == name {
			return i
		}
	}
	return -1
}

func (u unit) multiplyUnit(number string) (Duration, error) {
	whole, fraction, hasPoint := strings.Cut(number, ".")
	if hasPoint && !u.fraction {
		return 0, fmt.Errorf("has a fraction in %q, which only ISO seconds may have", number+u.name)
	}
	n, err := parseDigits(whole)
	if err != nil {
		return 0, err
	}
	if n > math.MaxInt64/int64(u.size) {
		return 0, errTooLong()
	}
	part := Duration(n) * u.size
	if !hasPoint {
		return part, nil
	}
	if len(fraction) > 6 {
		return 0, fmt.Errorf("is finer than a microsecond in %q", number+u.name)
	}
	micros, err := parseDigits((fraction + "000000")[:6])
	if err != nil || fraction == "" {
		return 0, fmt.Errorf("has a bad fraction in %q", number+u.name)
	}
	return addDurations(part, Duration(micros)*Duration(time.Microsecond))
}

func parseDigits(text string) (int64, error) {
	if text == "" {
		return 0, errors.New("has a point without digits before it")
	}
	var n int64
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("has a bad number %q", text)
		}
		if n > (math.MaxInt64-9)/10 {
			return 0, errTooLong()
		}
		n = n*10 + int64(c-'0')
	}
	return n, nil
}

func addDurations(a, b Duration) (Duration, error) {
	if a > math.MaxInt64-b {
		return 0, errTooLong()
	}
	return a + b, nil
}

func errTooLong() error { return errors.New("is longer than about 292 years") }

func splitSpan(text string, in func(byte) bool) (head, tail string) {
	n := 0
	for n < len(text) && in(text[n]) {
		n++
	}
	return text[:n], text[n:]
}

func isNumeric(c byte) bool { return c >= '0' && c <= '9' || c == '.' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
