package extract

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// format is a layout of the time package and how exact it is.
type format struct {
	layout string
	unit   unit
}

// The known shapes of texts with numbers, by what stands after the year.
// The library reads a fraction of a second behind any seconds.
var (
	dashed = []format{
		{time.RFC3339, instant}, {"2006-01-02", day}, {"2006-01-02T15:04:05", instant}, {"2006-01-02 15:04:05", instant},
		{"2006-01", month}, {"2006-01-02T15:04:05Z0700", instant}, {"2006-01-02T15:04Z07:00", minute}, {"2006-01-02T15:04", minute},
		{"2006-01-02 15:04:05Z07:00", instant}, {"2006-01-02 15:04:05 -0700", instant}, {"2006-01-02 15:04:05 UTC", instant},
		{"2006-01-02 15:04:05 GMT", instant}, {"2006-01-02 15:04", minute},
	}
	slashed = []format{
		{"2006/1/2", day}, {"2006/1", month}, {"2006/1/2 15:04", minute}, {"2006/1/2 15:04:05", instant},
	}
	// Zones by name are read only as GMT and UTC: the library takes any three
	// letters for a zone and, where it does not know them, for UTC.
	mailed = []format{
		{"Mon, 2 Jan 2006 15:04:05 GMT", instant}, {"Mon, 2 Jan 2006 15:04:05 UTC", instant}, {time.RFC1123Z, instant},
		{"Mon, 2 Jan 2006 15:04:05 -0700", instant}, {"2 Jan 2006 15:04:05 GMT", instant}, {"2 Jan 2006 15:04:05 -0700", instant},
	}
)

func (d *Dates) readText(text string) (reading, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return reading{}, errNoDate
	}
	if len(text) > maxDateBytes {
		return reading{}, notADate(text)
	}
	for _, f := range d.formats {
		if r, err := d.parseFormat(f, text); err == nil {
			return r, nil
		}
	}
	switch {
	case onlyDigits(text):
		return d.readDigits(text)
	case len(text) > 4 && text[4] == '-' && onlyDigits(text[:4]):
		if r, err := d.anyOf(dashed, text); err == nil {
			return r, nil
		}
	case len(text) > 4 && text[4] == '/' && onlyDigits(text[:4]):
		return d.anyOf(slashed, text)
	case strings.Count(text, ":") == 2:
		return d.anyOf(mailed, text)
	}
	return d.readWords(text)
}

func (d *Dates) anyOf(shapes []format, text string) (reading, error) {
	for _, f := range shapes {
		r, err := d.parseFormat(f, text)
		if _, other := errors.AsType[*time.ParseError](err); !other {
			return r, err
		}
	}
	return reading{}, notADate(text)
}

func (d *Dates) parseFormat(f format, text string) (reading, error) {
	zone := d.zone
	if f.unit >= day || strings.HasSuffix(f.layout, "UTC") || strings.HasSuffix(f.layout, "GMT") {
		zone = time.UTC
	}
	at, err := time.ParseInLocation(f.layout, text, zone)
	if err != nil {
		return reading{}, err
	}
	if f.unit >= day {
		return d.readCalendar(calendar{year: at.Year(), month: int(at.Month()), day: at.Day(), unit: f.unit})
	}
	return d.readSpan(at, f.unit, 0)
}

// readDigits reads a year, a day and epoch numbers written as text.
func (d *Dates) readDigits(text string) (reading, error) {
	switch len(text) {
	case 4:
		return d.anyOf([]format{{"2006", year}}, text)
	case 8:
		return d.anyOf([]format{{"20060102", day}}, text)
	case 12, 14:
		// As milliseconds 202503011200 would be some day of 1976.
		layout := "20060102150405"[:len(text)]
		if at, err := time.Parse(layout, text); err == nil && at.Year() >= 1900 && at.Year() < 2100 {
			return reading{}, fmt.Errorf("%q may be a date or an epoch number; say which in response.dateFormats", text)
		}
	}
	if len(text) < 9 {
		return reading{}, notADate(text)
	}
	return d.readNumber(text)
}

func onlyDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}
