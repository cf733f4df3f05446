package extract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/zone"
)

// Dates reads the dates of one endpoint, in whatever shape its source writes
// them: texts, epoch numbers, date-parts arrays and objects of year, month and
// day. What is less exact than an instant stands for its first instant, in the
// zone of the endpoint. A shape it does not know is an error and never a guess.
type Dates struct {
	zone    *time.Location
	formats []format
}

// NewDates prepares to read dates. Those without a zone are in the given one; formats are
// patterns tried before the known shapes.
func NewDates(in zone.Zone, formats []string) (*Dates, error) {
	location, err := in.Location()
	if err != nil {
		return nil, fmt.Errorf("response.zone: %w", err)
	}
	d := &Dates{zone: location}
	for _, pattern := range formats {
		f, err := parseFormat(pattern)
		if err != nil {
			return nil, fmt.Errorf("response.dateFormats: %w", err)
		}
		d.formats = append(d.formats, f)
	}
	return d, nil
}

// Instant reads a date as the instant it stands for, cut to microseconds.
func (d *Dates) Instant(v document.Value) (time.Time, error) {
	r, err := d.readValue(v)
	return r.at, err
}

// reading is a date that was read. A date such as 2025-03 is stored as its first
// instant, but says no more than that the true one lies within the month.
type reading struct {
	at     time.Time
	within window.Window
}

var errNoDate = errors.New("no date")

// maxDateBytes is more than any date has; what is longer is not looked at.
const maxDateBytes = 80

func (d *Dates) readValue(v document.Value) (reading, error) {
	switch v.Kind() {
	case document.Absent, document.Null:
		return reading{}, errNoDate
	case document.String, document.Number:
		text, ok := v.Text()
		if !ok {
			return reading{}, errors.New("a date that is not valid UTF-8")
		}
		if v.Kind() == document.Number {
			return d.readNumber(text)
		}
		return d.readText(text)
	}
	decoder := json.NewDecoder(bytes.NewReader(v.Raw()))
	decoder.UseNumber() // 20250301.0 and 1e9 must stay what was written
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return reading{}, notADate(string(v.Raw()))
	}
	return d.readAny(tree)
}

// readAny reads a decoded value or the outcome of a template.
func (d *Dates) readAny(value any) (reading, error) {
	switch value := value.(type) {
	case nil:
		return reading{}, errNoDate
	case time.Time:
		return exactReading(value)
	case string:
		return d.readText(value)
	case json.Number:
		return d.readNumber(value.String())
	case int:
		return d.readNumber(strconv.Itoa(value))
	case int64:
		return d.readNumber(strconv.FormatInt(value, 10))
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return d.readNumber(strconv.FormatInt(int64(value), 10))
		}
	case []any:
		return d.readArray(value)
	case map[string]any:
		return d.readObject(value)
	}
	return reading{}, notADate(fmt.Sprint(value))
}

// Epoch numbers are told by size: as seconds the first number of milliseconds
// would lie in the year 5138, and likewise for microseconds.
const (
	secondsFrom = 100_000_000 // nine digits; fewer are a year or a day
	millisFrom  = 1e11
	microsFrom  = 1e14
	microsTo    = 1e17
)

// readNumber reads epoch seconds, milliseconds and microseconds, a year (2020) and a
// day (20250301). Other small numbers are refused: 0 is how some sources say
// that there is no date, and 1970 would then drop the item as not asked for.
func (d *Dates) readNumber(text string) (reading, error) {
	whole, fraction, found := strings.Cut(text, ".")
	if found && strings.Trim(fraction, "0") != "" {
		return reading{}, notADate(text)
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return reading{}, notADate(text)
	}
	size := n
	if size < 0 {
		size = -size
	}
	switch {
	case n > 0 && (len(whole) == 4 || len(whole) == 8):
		return d.readDigits(whole)
	case size < secondsFrom || size >= microsTo || size < 0:
		return reading{}, notADate(text)
	case size < millisFrom:
		return exactReading(time.Unix(n, 0))
	case size < microsFrom:
		return exactReading(time.UnixMilli(n))
	default:
		return exactReading(time.UnixMicro(n))
	}
}

func exactReading(at time.Time) (reading, error) {
	at = window.Instant(at)
	if err := window.CheckInstant(at); err != nil {
		return reading{}, err
	}
	return reading{at, window.Window{From: at, To: at.Add(time.Microsecond)}}, nil
}

func notADate(text string) error {
	if len(text) > maxDateBytes {
		text = strings.ToValidUTF8(text[:maxDateBytes/2], "") + "…"
	}
	return fmt.Errorf("%q is not a date we can read; response.dateFormats can name its shape", text)
}
