package query

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/patra-ingest/patra/internal/core/skew"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/zone"
)

// Precision is the finest instant a date filter can name.
type Precision string

// Precisions.
const (
	Second Precision = "SECOND"
	Minute Precision = "MINUTE"
	Hour   Precision = "HOUR"
	Day    Precision = "DAY"
	Month  Precision = "MONTH"
	Year   Precision = "YEAR"
)

// Bound says whether a filter's end is part of what it selects.
type Bound string

// Bounds.
const (
	Inclusive Bound = "INCLUSIVE"
	Exclusive Bound = "EXCLUSIVE"
)

// Ends says which ends of a window a request can name. What a slice may claim
// follows from it (D§5.26).
type Ends string

// Ends.
const (
	BothEnds Ends = "BOTH" // the upstream selects from one instant to another
	FromOnly Ends = "FROM" // it selects everything from an instant on
	OneUnit  Ends = "UNIT" // it selects one hour, day, month or year
	NoEnds   Ends = "NONE" // it does not select by date
)

// DateFilter is the `filter` section of an endpoint: how the upstream selects
// by date. What it cannot express exactly it selects too widely, never too
// narrowly; what comes beyond the window is kept.
type DateFilter struct {
	Field     string    `json:"field" required:"true" doc:"the date that is followed; names the cursor, for example indexed"`
	Ends      Ends      `json:"bounds,omitempty" enum:"BOTH,FROM,UNIT,NONE" doc:"which part of a window a request can name: both ends; FROM, only the lower one, so one slice reads all that is owed; UNIT, one unit of precision, so each slice is one unit; NONE, no date, so patra reads the whole list and filters it (default BOTH; NONE where window.updatedSince is false)"`
	Precision Precision `json:"precision,omitempty" enum:"SECOND,MINUTE,HOUR,DAY,MONTH,YEAR" doc:"finest instant the filter can name (default DAY)"`
	From      Bound     `json:"from,omitempty" enum:"INCLUSIVE,EXCLUSIVE" doc:"is the lower bound selected (default INCLUSIVE)"`
	To        Bound     `json:"to,omitempty" enum:"INCLUSIVE,EXCLUSIVE" doc:"is the upper bound selected (default INCLUSIVE)"`
	Zone      zone.Zone `json:"zone,omitempty" doc:"the zone in which the upstream reads its dates: UTC, an offset such as +09:00, or a name such as America/New_York (default UTC)"`
	// FormerPrecision keeps watermarks over a filter that became finer: what is
	// asked for is the same, only the way to write it changed.
	FormerPrecision Precision `json:"formerPrecision,omitempty" enum:"SECOND,MINUTE,HOUR,DAY,MONTH,YEAR" doc:"the precision of the filter when its watermarks began, if the upstream has learned a finer one since; the watermarks stay (default none: another precision starts new ones)"`
	Format          string    `json:"format,omitempty" doc:"how a bound is written: yyyy MM dd HH mm ss, or M d H without leading zeros, and digits, punctuation, blanks, T and Z as they stand; or EPOCH or EPOCH_MILLIS (default by precision)"`
	// MaxOutsideShare is nil where the source says nothing, so that snapshots stay as they were.
	MaxOutsideShare *float64 `json:"maxOutsideShare,omitzero" doc:"share of items, 0 to 1, whose response.filtered may lie outside what was asked for; more is a finding of patra status, because filter and stamps disagree (default 0.02)"`
}

// OutsideShare returns the share of items that may lie outside of what was asked for.
func (f DateFilter) OutsideShare() float64 {
	if f.MaxOutsideShare == nil {
		return skew.DefaultShare
	}
	return *f.MaxOutsideShare
}

// WithDefaults fills what the source left open and gives the zone its one spelling.
func (f DateFilter) WithDefaults() DateFilter {
	if f.Ends == "" {
		f.Ends = BothEnds
	}
	if f.Precision == "" {
		f.Precision = Day
	}
	if f.From == "" {
		f.From = Inclusive
	}
	if f.To == "" {
		f.To = Inclusive
	}
	if one, err := zone.Parse(string(f.Zone)); err == nil { // another is refused by Validate
		f.Zone = one
	}
	if f.Zone == "" {
		f.Zone = zone.UTC
	}
	if f.Format == "" {
		f.Format = defaultFormat(f.Precision, f.Zone)
	}
	return f
}

// Formerly returns the filter as it was written before it became finer. One that
// became coarser has no former self: it is another question.
func (f DateFilter) Formerly() (former DateFilter, was bool) {
	if len(partsOf(f.FormerPrecision)) >= len(partsOf(f.Precision)) || f.FormerPrecision == "" {
		return f, false
	}
	return DateFilter{Field: f.Field, Ends: f.Ends, Precision: f.FormerPrecision, From: f.From, To: f.To, Zone: f.Zone}.WithDefaults(), true
}

// defaultFormat writes Z only where it is true.
func defaultFormat(p Precision, in zone.Zone) string {
	mark := ""
	if in == zone.UTC {
		mark = "Z"
	}
	switch p {
	case Second:
		return "yyyy-MM-ddTHH:mm:ss" + mark
	case Minute:
		return "yyyy-MM-ddTHH:mm" + mark
	case Hour:
		return "yyyy-MM-ddTHH" + mark
	case Month:
		return "yyyy-MM"
	case Year:
		return "yyyy"
	}
	return "yyyy-MM-dd"
}

// Validate names the field that is wrong.
func (f DateFilter) Validate() error {
	if f.Field == "" {
		return errors.New("filter.field is missing: name the date that is followed")
	}
	if !fieldKey.MatchString(f.Field) {
		return fmt.Errorf("filter.field: E-FIELD-KEY: %q cannot name the date: use lower case letters, digits and _, at most 64; what the upstream calls it stands in the request", shortenText(f.Field))
	}
	if _, err := f.Zone.Location(); err != nil {
		return fmt.Errorf("filter.zone: %w", err)
	}
	if share := f.OutsideShare(); !(share >= 0 && share <= 1) { // so that NaN is refused too
		return fmt.Errorf("filter.maxOutsideShare %v: E-SHARE: must be between 0 and 1", share)
	}
	err := checkFormat(f.Precision, f.WithDefaults().Zone, f.Format)
	if err == nil {
		err = f.checkFiner()
	}
	if f.Format == epochSeconds || f.Format == epochMillis {
		err = f.checkEpoch()
	}
	if err != nil {
		return fmt.Errorf("filter.format: %w", err)
	}
	return nil
}

// Formats that count from 1970 instead of writing a date.
const (
	epochSeconds = "EPOCH"
	epochMillis  = "EPOCH_MILLIS"
)

// checkEpoch checks a filter by numbers. A number names an instant, so there is no
// zone to read it in, and an included bound in milliseconds would leave out the rest
// of its second.
func (f DateFilter) checkEpoch() error {
	switch f = f.WithDefaults(); {
	case f.Precision != Second:
		return fmt.Errorf("%s needs precision SECOND", f.Format)
	case f.Zone != zone.UTC:
		return fmt.Errorf("%s has no zone, but filter.zone is %s", f.Format, f.Zone)
	case f.Format == epochMillis && (f.From != Inclusive || f.To != Exclusive):
		return fmt.Errorf("%s needs from: INCLUSIVE and to: EXCLUSIVE, or parts of a second would be left out (an upstream that includes the upper bound serves what lies exactly on it twice, which does no harm)", f.Format)
	}
	return nil
}

// checkFormat refuses a format that leaves out what the precision names, or has
// letters that mean nothing: the upstream would read another bound than the one
// that was meant.
func checkFormat(p Precision, in zone.Zone, format string) error {
	if format == "" {
		return nil
	}
	if err := checkLetters(format); err != nil {
		return err
	}
	written := fieldsIn(format)
	for i, part := range partsOf(p) {
		if !written[i] {
			return fmt.Errorf("%q does not write %s, which precision %s needs", format, part, p)
		}
	}
	if in != zone.UTC && strings.Contains(format, "Z") {
		return fmt.Errorf("%q has a Z, which means UTC, but the zone is %s", format, in)
	}
	return nil
}

// checkFiner refuses an upper bound that is selected and written finer than the
// filter is: the last day of a window would be written as its first second, and
// an upstream that reads what is written leaves out the rest (I2).
func (f DateFilter) checkFiner() error {
	if f = f.WithDefaults(); f.To != Inclusive {
		return nil
	}
	written, first := fieldsIn(f.Format), len(partsOf(f.Precision))
	for i, part := range partsOf(Second)[first:] {
		if written[first+i] {
			return fmt.Errorf("%q writes %s, which precision %s leaves at its first value: the upper bound would leave out the rest of what it names; use a finer precision, or to: EXCLUSIVE",
				f.Format, part, f.Precision)
		}
	}
	return nil
}

// checkLetters refuses what other pattern languages would replace or take away,
// and what is sent as it stands here.
func checkLetters(format string) error {
	var before string
	for rest := format; rest != ""; {
		part, field := nextPart(rest)
		switch {
		case before != "" && before[0] == part[0] && touches(before, part):
			return fmt.Errorf("%q has %q, which would not be sent as it is meant: beside yyyy MM dd HH mm ss, or M d H without leading zeros, names of months and other forms are not written", format, before+part)
		case before != "" && touches(before, part):
			return fmt.Errorf("%q writes %s beside %s: without a character between them 1 and 11 look like 11 and 1; write both with leading zeros (MM, dd, HH)", format, before, part)
		}
		before = part
		if rest = rest[len(part):]; field >= 0 || part == "T" || part == "Z" || part >= " " && part <= "~" && !letterOrQuote(part[0]) {
			continue
		}
		switch part {
		case "'", `"`, "`":
			return fmt.Errorf("%q has quotes, which would be sent: T and Z stand without them", format)
		case "S":
			return fmt.Errorf("%q has an S, which would be sent: write a fraction as zeros, as in ss.000, and send the bound as exclusive", format)
		}
		return fmt.Errorf("%q has %q, which would be sent as it stands: beside yyyy MM dd HH mm ss, or M d H without leading zeros, there may be digits, punctuation, blanks, T and Z; EPOCH and EPOCH_MILLIS are counts since 1970", format, part)
	}
	return nil
}

// touches reports whether two neighbours in a format could be read as one number: one
// is written without leading zeros, and the other is digits too.
func touches(a, b string) bool {
	bare := func(part string) bool { return len(part) == 1 && slices.Contains(bareParts(), part) }
	digits := func(part string) bool {
		_, field := nextPart(part)
		return field >= 0 || part >= "0" && part <= "9"
	}
	return bare(a) && digits(b) || digits(a) && bare(b)
}

func letterOrQuote(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '\'' || c == '"' || c == '`'
}

// nextPart returns what a format starts with: the name of a field of time with its
// number in partsOf(Second), or one character and -1.
func nextPart(format string) (part string, field int) {
	for i, name := range partsOf(Second) {
		if strings.HasPrefix(format, name) {
			return name, i
		}
	}
	for i, name := range bareParts() {
		if name != "" && strings.HasPrefix(format, name) {
			return name, i
		}
	}
	_, size := utf8.DecodeRuneInString(format)
	return format[:size], -1
}

// fieldsIn tells which fields of time a format writes, by their number in partsOf(Second).
func fieldsIn(format string) (written [6]bool) {
	for format != "" {
		part, field := nextPart(format)
		if format = format[len(part):]; field >= 0 {
			written[field] = true
		}
	}
	return written
}

// bareParts are the fields of partsOf(Second) that may be written without leading zeros, as
// /archive/2024/1 has its month.
func bareParts() []string { return []string{"", "M", "d", "H", "", ""} }

func partsOf(p Precision) []string {
	parts := []string{"yyyy", "MM", "dd", "HH", "mm", "ss"}
	switch p {
	case Year:
		return parts[:1]
	case Month:
		return parts[:2]
	case Hour:
		return parts[:4]
	case Minute:
		return parts[:5]
	case Second:
		return parts
	}
	return parts[:3]
}

// Resolve looks the zone up. A caller that renders many requests keeps the
// result; the methods of DateFilter resolve anew each time.
func (f DateFilter) Resolve() (Calendar, error) {
	loc, err := f.Zone.Location()
	if err != nil {
		return Calendar{}, fmt.Errorf("filter.zone: %w", err)
	}
	return Calendar{filter: f, zone: loc}, nil
}

// Bounds gives the two values to send for a window, as local times on the grid
// of the filter's precision. Text writes them; they are not instants.
func (f DateFilter) Bounds(w window.Window) (from, to time.Time) { return f.mustCalendar().Bounds(w) }

// Unit gives the unit of the filter that a window begins in, as a local time; Text writes it.
func (f DateFilter) Unit(w window.Window) time.Time { return f.mustCalendar().Unit(w) }

// Selected returns the smallest window that holds every instant the upstream selects
// for w: never less than w.
func (f DateFilter) Selected(w window.Window) window.Window { return f.mustCalendar().Selected(w) }

// Text writes a bound in the filter's format.
func (f DateFilter) Text(bound time.Time) string {
	switch f.Format {
	case epochSeconds:
		return strconv.FormatInt(bound.Unix(), 10)
	case epochMillis:
		return strconv.FormatInt(bound.UnixMilli(), 10)
	}
	return writeTime(f.Format, bound)
}

// Cut moves an instant down to the filter's grid, so that slices do not make
// the upstream serve the same day twice (S§5.4).
func (f DateFilter) Cut(t time.Time) time.Time { return f.mustCalendar().Cut(t) }

// mustCalendar panics on a zone that Validate refuses: another zone in its place
// would leave a silent hole.
func (f DateFilter) mustCalendar() Calendar {
	c, err := f.Resolve()
	if err != nil {
		panic("query: a filter was used that was never validated: " + err.Error())
	}
	return c
}

// writeTime fills a format with the fields of a local time.
func writeTime(format string, t time.Time) string {
	out := make([]byte, 0, len(format)+4)
	for format != "" {
		part, field := nextPart(format)
		if format = format[len(part):]; field < 0 {
			out = append(out, part...)
			continue
		}
		digits := strconv.Itoa([...]int{t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second()}[field])
		for range len(part) - len(digits) {
			out = append(out, '0')
		}
		out = append(out, digits...)
	}
	return string(out)
}
