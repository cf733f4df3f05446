package extract

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// readArray reads date-parts: [2020,1,5], also inside another array, as Crossref and
// CSL write them. Of several dates the first counts. An array of one other
// value is that value, which is how a path with a filter gives it.
func (d *Dates) readArray(list []any) (reading, error) {
	for len(list) > 0 && list[len(list)-1] == nil {
		list = list[:len(list)-1] // [[null]] is Crossref for no date
	}
	if len(list) == 0 {
		return reading{}, errNoDate
	}
	if inner, nested := list[0].([]any); nested {
		return d.readArray(inner)
	}
	if len(list) == 1 {
		return d.readAny(list[0])
	}
	if len(list) > 3 {
		return reading{}, fmt.Errorf("an array of %d values is not a date", len(list))
	}
	c := calendar{unit: year}
	for i, part := range list {
		place, unit := [...]*int{&c.year, &c.month, &c.day}[i], [...]unit{year, month, day}[i]
		value, err := partOf(part)
		if err != nil || value == 0 {
			return reading{}, fmt.Errorf("part %d of a date array is not a number", i+1)
		}
		*place, c.unit = value, unit
	}
	return d.readCalendar(c)
}

// readObject reads {"Year":…,"Month":…,"Day":…} with names in any case, as PubMed
// writes dates, also with Season or with MedlineDate alone. Other members do
// not matter.
func (d *Dates) readObject(members map[string]any) (reading, error) {
	parts := map[string]any{}
	for name, value := range members {
		name = strings.ToLower(name)
		if _, twice := parts[name]; twice {
			return reading{}, fmt.Errorf("a date with two members %q", name)
		}
		if text, isText := value.(string); value != nil && (!isText || strings.TrimSpace(text) != "") {
			parts[name] = value
		}
	}
	if parts["year"] == nil {
		for _, whole := range []string{"medlinedate", textMember} {
			if text, ok := parts[whole].(string); ok {
				return d.readText(text)
			}
		}
		return reading{}, fmt.Errorf("an object without a year is not a date")
	}
	return d.ofParts(parts)
}

// textMember holds the text of an XML element that also has attributes.
const textMember = "#text"

func (d *Dates) ofParts(parts map[string]any) (reading, error) {
	c := calendar{unit: year}
	if season, ok := parts["season"].(string); ok && parts["month"] == nil {
		first, _, _ := strings.Cut(season, "-") // Spring-Summer
		if c.month, _ = monthNamed(strings.TrimSpace(first)); c.month == 0 {
			return reading{}, notADate(season)
		}
		c.until = 1
	}
	gap := false
	for _, part := range []struct {
		name  string
		place *int
		unit  unit
	}{{"year", &c.year, year}, {"month", &c.month, month}, {"day", &c.day, day}, {"hour", &c.hour, hour}, {"minute", &c.minute, minute}, {"second", &c.second, instant}} {
		value, given := parts[part.name]
		if !given {
			gap = true
			continue
		}
		n, err := partOf(value)
		switch {
		case err != nil:
			return reading{}, fmt.Errorf("%s: %w", part.name, err)
		case gap:
			return reading{}, fmt.Errorf("a date with a %s but without what stands before it", part.name)
		case n == 0 && part.unit > hour:
			return reading{}, fmt.Errorf("%s: 0 is not a %s", part.name, part.name)
		}
		*part.place, c.unit = n, part.unit
	}
	return d.readCalendar(c)
}

// partOf reads a number, digits or the name of a month.
func partOf(value any) (int, error) {
	switch value := value.(type) {
	case json.Number:
		return smallNumber(value.String())
	case string:
		text := strings.TrimSpace(value)
		if n, rough := monthNamed(text); n > 0 && !rough {
			return n, nil
		}
		return smallNumber(text)
	case int:
		return value, nil
	case int64:
		return int(value), nil
	case float64:
		return smallNumber(strconv.FormatFloat(value, 'f', -1, 64))
	case map[string]any:
		if text, ok := value[textMember].(string); ok {
			return smallNumber(strings.TrimSpace(text))
		}
	}
	return 0, fmt.Errorf("not a number")
}

func smallNumber(text string) (int, error) {
	if !onlyDigits(text) || len(text) > 4 {
		return 0, fmt.Errorf("not a number of at most four digits")
	}
	return parseDigits(text), nil
}
