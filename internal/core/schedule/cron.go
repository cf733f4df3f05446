package schedule

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// cronField is one of the five fields. Place is its number in the library, which
// counts seconds first.
type cronField struct {
	name  string
	place int
	names string // three-letter names the field may use
}

var cronFields = [...]cronField{
	{"minute", 1, ""},
	{"hour", 2, ""},
	{"day of the month", 3, ""},
	{"month", 4, "JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC"},
	{"day of the week", 5, "SUN|MON|TUE|WED|THU|FRI|SAT"},
}

// cronPart is one element of a list. Of the spellings that cron programs
// understand differently none is taken: no @daily, ?, L, W, #, no 5/10 and no *
// among others.
var cronPart = regexp.MustCompile(`^(\*(/\d{1,4})?|(\d{1,4}|[A-Z]{3})(-(\d{1,4}|[A-Z]{3})(/\d{1,4})?)?)$`)

// checkCron refuses what the library would take and nobody meant. Its own
// IsValid depends on the minute in which the program was started: it stops at
// the first element of a list that fits that minute.
func checkCron(cron string) error {
	fields := strings.Fields(cron)
	if len(fields) != len(cronFields) {
		return fmt.Errorf("has %d fields, cron has %d: minute, hour, day of the month, month, day of the week", len(fields), len(cronFields))
	}
	for i, field := range cronFields {
		parts := strings.Split(fields[i], ",")
		for _, part := range parts {
			if part == "*" && len(parts) > 1 || !field.takes(part) {
				return fmt.Errorf("cannot have %q as its %s", part, field.name)
			}
		}
	}
	if _, err := cronAfter(cron, anyDay); err != nil {
		return errors.New("there is no such day")
	}
	return nil
}

// anyDay is before a leap day, so that one can be found.
var anyDay = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

func (f cronField) takes(part string) bool {
	if !cronPart.MatchString(part) {
		return false
	}
	for _, word := range cronWord.FindAllString(part, -1) {
		number, ok := f.number(word)
		if !ok {
			return false
		}
		part = strings.Replace(part, word, number, 1)
	}
	checker := &gronx.SegmentChecker{}
	checker.SetRef(anyDay)
	_, err := checker.CheckDue(part, f.place)
	return err == nil
}

var cronWord = regexp.MustCompile(`[A-Z]+`)

// number is what a name of the field stands for.
func (f cronField) number(name string) (string, bool) {
	for i, known := range strings.Split(f.names, "|") {
		if known == name {
			if f.place == 4 { // months count from 1, days of the week from 0
				i++
			}
			return fmt.Sprint(i), true
		}
	}
	return "", false
}

// cronAfter is the first time on the clock after one, as if the clock never
// jumped: both are written as UTC.
func cronAfter(cron string, clock time.Time) (time.Time, error) {
	// The library walks second by second to the next minute; from its last
	// second that is one step.
	next, err := gronx.NextTickAfter(cron, clock.Truncate(time.Minute).Add(time.Minute-time.Second), false)
	if err == nil && !next.After(clock) {
		err = errors.New("the library went back")
	}
	return next, err
}

// onClock is what a clock shows at an instant, written as UTC.
func onClock(at time.Time, in *time.Location) time.Time {
	_, offset := at.In(in).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// farAhead is more than any zone differs from UTC.
const farAhead = 26 * time.Hour

// firstShown is the first instant at which the clock shows a time or a later one:
// the moment of the jump for a time that is jumped over, the first of the two for
// a time that comes twice. It never goes back for a later time.
func firstShown(clock time.Time, in *time.Location) time.Time {
	at := clock.Add(-farAhead)
	for {
		_, offset := at.In(in).Zone()
		shown := clock.Add(-time.Duration(offset) * time.Second)
		if shown.Before(at) {
			return at // the clock jumped over it at this moment
		}
		_, end := at.In(in).ZoneBounds()
		if end.IsZero() || shown.Before(end) {
			return shown
		}
		at = end.UTC()
	}
}
