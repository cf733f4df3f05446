package wording

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// CountAre is "1 slice is" or "2 slices are".
func CountAre(n int, noun string) string { return Count(n, noun) + " " + IsAre(int64(n)) }

func IsAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// MinuteText writes an instant to the minute.
func MinuteText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04Z")
}

// SecondText writes an instant for people: UTC, seconds.
func SecondText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// DurationText writes a stretch of time for people, with its two largest units at most.
func DurationText(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 0 {
		return "-" + DurationText(-d)
	}
	for _, u := range []struct {
		unit, part time.Duration
		name, rest string
	}{{365 * day, day, "y", "d"}, {day, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "m"}, {time.Minute, time.Second, "m", "s"}} {
		if d < u.unit {
			continue
		}
		text := fmt.Sprintf("%d%s", d/u.unit, u.name)
		if rest := d % u.unit / u.part; rest > 0 && d < 10*u.unit {
			text += fmt.Sprintf(" %d%s", rest, u.rest)
		}
		return text
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// DateOrSecond writes an instant: a date where that says all, else seconds.
func DateOrSecond(t time.Time) string {
	if !t.IsZero() && t.Equal(t.Truncate(24*time.Hour)) {
		return t.UTC().Format(time.DateOnly)
	}
	return SecondText(t)
}

// WindowText writes a window without seconds that are all zero.
func WindowText(w window.Window) string {
	if w == (window.Window{}) {
		return "-" // work on ids has none
	}
	short := func(t time.Time) string {
		if t.Equal(t.Truncate(24 * time.Hour)) {
			return t.Format("2006-01-02")
		}
		return window.Text(t)
	}
	return "[" + short(w.From) + ", " + short(w.To) + ")"
}

// Shorten cuts text that is too wide for a table.
func Shorten(text string, width int) string {
	runes := []rune(strings.ReplaceAll(text, "\n", " "))
	if len(runes) <= width {
		return string(runes)
	}
	return string(runes[:width-1]) + "…"
}

// FailureText writes a fault once: its text often begins with its code.
func FailureText(code, text string) string {
	switch {
	case text == "":
		return OrDash(code)
	case strings.HasPrefix(text, code):
		return text
	}
	return code + ": " + text
}

func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
