package extract

import "strings"

// months and seasons are read in any case. A season stands for the month it
// begins in on the northern half of the globe; winter is December of its year.
var (
	months = map[string]int{
		"jan": 1, "january": 1, "feb": 2, "february": 2, "mar": 3, "march": 3, "apr": 4, "april": 4, "may": 5, "jun": 6, "june": 6,
		"jul": 7, "july": 7, "aug": 8, "august": 8, "sep": 9, "sept": 9, "september": 9, "oct": 10, "october": 10,
		"nov": 11, "november": 11, "dec": 12, "december": 12,
	}
	seasons = map[string]int{"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
)

// readWords reads what people write: 2020 Jan 5, Jan 2020, Summer 2020, and the
// spans of PubMed's MedlineDate (2020 Jan-Feb, 1998 Dec-1999 Jan), of which the
// first date counts.
func (d *Dates) readWords(text string) (reading, error) {
	first, last, span := strings.Cut(strings.ReplaceAll(text, "–", "-"), "-")
	c, ok := namedParts(first)
	if !ok {
		return reading{}, notADate(text)
	}
	if span {
		end, ok := namedParts(last)
		lostDay := end.day > 0 && end.month == 0 && c.day == 0 // 2020-13
		if !ok || lostDay || end.year == 0 && c.year == 0 {
			return reading{}, notADate(text)
		}
		if c.year == 0 {
			c.year = end.year
		}
		c.until = max(c.year, end.year)
	}
	if c.year == 0 || c.day > 0 && c.month == 0 {
		return reading{}, notADate(text)
	}
	return d.readCalendar(c)
}

// namedParts takes one date apart: one year of four digits, at most one month or
// season, at most one day, in any order.
func namedParts(text string) (c calendar, ok bool) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '.' })
	c.unit = year
	for _, field := range fields {
		place, value := &c.year, 0
		switch {
		case onlyDigits(field) && len(field) == 4:
			value = parseDigits(field)
		case onlyDigits(field) && len(field) <= 2:
			place, value = &c.day, parseDigits(field)
		default:
			var rough bool
			place = &c.month
			if value, rough = monthNamed(field); rough {
				c.until = 1
			}
		}
		if value == 0 || *place != 0 {
			return c, false
		}
		*place = value
	}
	switch {
	case c.day > 0:
		c.unit = day
	case c.month > 0:
		c.unit = month
	}
	return c, len(fields) > 0
}

// monthNamed returns zero for what is neither a month nor a season. Which months
// a season really means differs from journal to journal, so it is rough.
func monthNamed(name string) (value int, rough bool) {
	name = strings.ToLower(name)
	if value = months[name]; value > 0 {
		return value, false
	}
	return seasons[name], true
}

// parseDigits reads a few digits.
func parseDigits(digits string) (n int) {
	for _, digit := range digits {
		n = 10*n + int(digit-'0')
	}
	return n
}
