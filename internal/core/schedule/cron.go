package schedule

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// cronTimes is what a cron expression says: for each of the five fields the set of
// its values, one bit each.
type cronTimes struct {
	minutes, hours, days, months, weekdays uint64
	eitherDay                              bool // a day of the month or of the week is enough: neither begins with *
}

// cronField is one of the five fields and the values it may have.
type cronField struct {
	name      string
	low, high int
	names     string // three-letter names of its values, from the lowest
}

var cronFields = [...]cronField{
	{"minute", 0, 59, ""},
	{"hour", 0, 23, ""},
	{"day of the month", 1, 31, ""},
	{"month", 1, 12, "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"},
	{"day of the week", 0, 7, "SUN MON TUE WED THU FRI SAT"}, // 7 is Sunday again
}

// parseCron reads an expression. Of the spellings that cron programs understand
// differently none is taken: no @daily, ?, L, W, #, no 5/10 and no * among others.
func parseCron(cron string) (cronTimes, error) {
	fields := strings.Fields(cron)
	if len(fields) != len(cronFields) {
		return cronTimes{}, fmt.Errorf("has %d fields, cron has %d: minute, hour, day of the month, month, day of the week", len(fields), len(cronFields))
	}
	var sets [len(cronFields)]uint64
	for i, field := range cronFields {
		var err error
		if sets[i], err = field.parseField(fields[i]); err != nil {
			return cronTimes{}, err
		}
	}
	c := cronTimes{minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4] | sets[4]>>7&1}
	c.eitherDay = !strings.HasPrefix(fields[2], "*") && !strings.HasPrefix(fields[4], "*")
	if _, ok := c.timeAfter(anyDay); !ok {
		return cronTimes{}, errors.New("there is no such day")
	}
	return c, nil
}

// anyDay is where the search for a first time begins.
var anyDay = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// parseField returns the values that a field names.
func (f cronField) parseField(text string) (set uint64, err error) {
	parts := strings.Split(text, ",")
	for _, part := range parts {
		values, ok := f.parsePart(part)
		if !ok || part == "*" && len(parts) > 1 {
			return 0, fmt.Errorf("cannot have %q as its %s", part, f.name)
		}
		set |= values
	}
	return set, nil
}

// parsePart returns the values of one element of a list: *, a value, or a range;
// * and ranges may have a step.
func (f cronField) parsePart(part string) (set uint64, ok bool) {
	span, steps, hasStep := strings.Cut(part, "/")
	from, to, step := f.low, f.high, 1
	if span != "*" {
		first, last, isRange := strings.Cut(span, "-")
		if !isRange {
			last = first
		}
		var okFirst, okLast bool
		from, okFirst = f.parseValue(first)
		to, okLast = f.parseValue(last)
		if !okFirst || !okLast || hasStep && !isRange {
			return 0, false
		}
		if from == 7 && f.high == 7 && to != 7 {
			from = 0 // a week that begins with its second Sunday
		}
	}
	if hasStep {
		if step, ok = parseNumber(steps); !ok || step == 0 {
			return 0, false
		}
	}
	for n := from; n <= to; n += step {
		set |= 1 << n
	}
	return set, from <= to
}

// parseValue reads a number or a name of the field.
func (f cronField) parseValue(text string) (int, bool) {
	for i, name := range strings.Fields(f.names) {
		if name == text {
			return f.low + i, true
		}
	}
	n, ok := parseNumber(text)
	return n, ok && n >= f.low && n <= f.high
}

func parseNumber(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err == nil && len(text) <= 4
}

// longestPause is longer than any expression is without a time: a leap day on a
// certain day of the week may be 40 years away.
const longestPause = 50

// timeAfter returns the first time on the clock after one, as if the clock never
// jumped: both are written as UTC. There is none if the day never comes.
func (c *cronTimes) timeAfter(clock time.Time) (next time.Time, ok bool) {
	day := clock.Truncate(24 * time.Hour)
	from := int(clock.Sub(day)/time.Minute) + 1
	for last := day.AddDate(longestPause, 0, 0); day.Before(last); from = 0 {
		year, month, date := day.Date()
		if c.months>>month&1 == 0 {
			day = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		}
		if c.isOn(date, day.Weekday()) {
			if minute, ok := c.minuteFrom(from); ok {
				return day.Add(time.Duration(minute) * time.Minute), true
			}
		}
		day = day.Add(24 * time.Hour)
	}
	return time.Time{}, false
}

// isOn reports whether a day is named. Where both fields of days are restricted, one
// of them is enough, as the manual of cron says.
func (c *cronTimes) isOn(date int, weekday time.Weekday) bool {
	inMonth, inWeek := c.days>>date&1 == 1, c.weekdays>>weekday&1 == 1
	if c.eitherDay {
		return inMonth || inWeek
	}
	return inMonth && inWeek
}

// minuteFrom returns the first minute of a day that is named, from one on.
func (c *cronTimes) minuteFrom(from int) (minute int, ok bool) {
	hour := from / 60
	if left := c.minutes >> (from % 60) << (from % 60); c.hours>>hour&1 == 1 && left != 0 {
		return hour*60 + bits.TrailingZeros64(left), true
	}
	left := c.hours >> (hour + 1) << (hour + 1)
	if left == 0 {
		return 0, false
	}
	return bits.TrailingZeros64(left)*60 + bits.TrailingZeros64(c.minutes), true
}
