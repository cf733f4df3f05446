package query

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/patra-ingest/patra/internal/core/window"
)

// What a reader accepts. A condition in a source file is a few lines; the
// limits stop hostile input before it costs stack or time.
const (
	maxDepth  = 64
	maxNodes  = 5000      // values of lists count
	maxSource = 256 << 10 // bytes
	maxNumber = 60        // characters
)

var (
	fieldKey    = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	dateText    = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	instantForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})$`)
	decimalText = regexp.MustCompile(`^-?\d+(\.\d+)?$`)
)

// Valid reports the first node that is not well formed, with its place in the
// tree as the JSON form names it. Whether the upstream can express a condition
// is another question: see Config.Check.
func (e Expr) Valid() error {
	nodes := 0
	return e.valid("", 1, &nodes)
}

func (e Expr) valid(path string, depth int, nodes *int) error {
	*nodes++
	if err := withinLimits(path, depth, *nodes); err != nil {
		return err
	}
	switch e.Kind {
	case KindConst:
		return nil
	case KindAtom:
		if e.Atom == nil {
			return at(path, "an ATOM needs its condition")
		}
		*nodes += len(e.Atom.In.Values)
		return first(withinLimits(path, depth, *nodes), e.Atom.valid(path))
	case KindNot:
		if len(e.Children) != 1 {
			return at(path, "NOT has exactly one child, found %d", len(e.Children))
		}
		return e.Children[0].valid(join(path, "child"), depth+1, nodes)
	case KindAnd, KindOr:
		for i, child := range e.Children {
			if err := child.valid(element(path, i), depth+1, nodes); err != nil {
				return err
			}
		}
		return nil
	}
	return at(join(path, "type"), "%q is unknown: use AND, OR, NOT, CONST or ATOM", e.Kind)
}

func withinLimits(path string, depth, nodes int) error {
	if depth > maxDepth {
		return at(path, "the expression is nested deeper than %d", maxDepth)
	}
	if nodes > maxNodes {
		return at(path, "the expression has more than %d conditions and values", maxNodes)
	}
	return nil
}

func (a Atom) valid(path string) error {
	if !fieldKey.MatchString(a.Field) {
		return at(join(path, "field"), "%q is not a field key: use lower case letters, digits and _, at most 64", shorten(a.Field))
	}
	value := join(path, "value")
	switch a.Op {
	case OpTerm:
		return first(plain(join(value, "text"), a.Term.Text), known(join(value, "match"), a.Term.Match, MatchPhrase, MatchExact, MatchAny),
			known(join(value, "case"), a.Term.Case, Insensitive, Sensitive))
	case OpIn:
		return a.In.valid(value)
	case OpRange:
		return a.Range.valid(value)
	case OpExists:
		return nil
	case OpToken:
		return first(plain(join(value, "tokenType"), a.Token.Type), plain(join(value, "tokenValue"), a.Token.Value))
	}
	return known(join(path, "op"), a.Op, OpTerm, OpIn, OpRange, OpExists, OpToken)
}

func (l List) valid(path string) error {
	if len(l.Values) == 0 {
		return at(join(path, "values"), "the list needs at least one value")
	}
	for i, v := range l.Values {
		if err := plain(fmt.Sprintf("%s[%d]", join(path, "values"), i), v); err != nil {
			return err
		}
	}
	return known(join(path, "case"), l.Case, Insensitive, Sensitive)
}

func (r Interval) valid(path string) error {
	if err := first(known(join(path, "rangeType"), r.Type, RangeDate, RangeDateTime, RangeNumber),
		known(join(path, "fromBoundary"), r.FromBoundary, Open, Closed), known(join(path, "toBoundary"), r.ToBoundary, Open, Closed)); err != nil {
		return err
	}
	for _, end := range []struct{ name, text string }{{"from", r.From}, {"to", r.To}} {
		if end.text == "" {
			continue
		}
		if err := r.Type.fits(end.text); err != nil {
			return at(join(path, end.name), "%s", err)
		}
	}
	return nil
}

// fits reports whether text is a value of the type.
func (t RangeType) fits(text string) error {
	switch t {
	case RangeDate:
		if _, ok := parseDate(text); !ok {
			return fmt.Errorf("%q is not a date such as 2025-03-01", shorten(text))
		}
	case RangeDateTime:
		if _, ok := parseInstant(text); !ok {
			return fmt.Errorf("%q is not an instant such as 2025-03-01T00:00:00Z, with at most 6 digits of a second", shorten(text))
		}
	default:
		if !decimalText.MatchString(text) || len(text) > maxNumber {
			return fmt.Errorf("%q is not a plain decimal number", shorten(text))
		}
	}
	return nil
}

func parseDate(text string) (time.Time, bool) {
	if !dateText.MatchString(text) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.DateOnly, text)
	return t, err == nil && window.CheckInstant(t) == nil
}

func parseInstant(text string) (time.Time, bool) {
	if !instantForm.MatchString(text) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return t.UTC(), err == nil && window.CheckInstant(t) == nil
}

func plain(path, text string) error {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return at(path, "text must be valid UTF-8 without NUL")
	}
	return nil
}

func known[T ~string](path string, value T, valid ...T) error {
	if slices.Contains(valid, value) {
		return nil
	}
	return at(path, "%q is unknown: use %s", shorten(string(value)), choice(valid))
}

// optional is known for a value that may be left out.
func optional[T ~string](value T, valid ...T) error {
	if value == "" {
		return nil
	}
	return known("", value, valid...)
}

func choice[T ~string](valid []T) string {
	texts := make([]string, len(valid))
	for i, v := range valid {
		texts[i] = string(v)
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " or " + texts[len(texts)-1]
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// at puts the place in front of a message. The root has no name.
func at(path, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if path == "" {
		return errors.New(message)
	}
	return errors.New(path + ": " + message)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func element(path string, i int) string { return fmt.Sprintf("%s[%d]", join(path, "children"), i) }

// shorten keeps a message readable when the input is not.
func shorten(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
