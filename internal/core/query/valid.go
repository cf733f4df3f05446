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
	return e.checkTree("", 1, &nodes)
}

func (e Expr) checkTree(path string, depth int, nodes *int) error {
	*nodes++
	if err := withinLimits(path, depth, *nodes); err != nil {
		return err
	}
	switch e.Kind {
	case KindConst:
		return nil
	case KindAtom:
		if e.Atom == nil {
			return errorAt(path, "an ATOM needs its condition")
		}
		*nodes += len(e.Atom.In.Values)
		return firstError(withinLimits(path, depth, *nodes), e.Atom.checkAtom(path))
	case KindNot:
		if len(e.Children) != 1 {
			return errorAt(path, "NOT has exactly one child, found %d", len(e.Children))
		}
		return e.Children[0].checkTree(joinPath(path, "child"), depth+1, nodes)
	case KindAnd, KindOr:
		for i, child := range e.Children {
			if err := child.checkTree(elementPath(path, i), depth+1, nodes); err != nil {
				return err
			}
		}
		return nil
	}
	return errorAt(joinPath(path, "type"), "%q is unknown: use AND, OR, NOT, CONST or ATOM", e.Kind)
}

func withinLimits(path string, depth, nodes int) error {
	if depth > maxDepth {
		return errorAt(path, "the expression is nested deeper than %d", maxDepth)
	}
	if nodes > maxNodes {
		return errorAt(path, "the expression has more than %d conditions and values", maxNodes)
	}
	return nil
}

func (a Atom) checkAtom(path string) error {
	if !fieldKey.MatchString(a.Field) {
		return errorAt(joinPath(path, "field"), "%q is not a field key: use lower case letters, digits and _, at most 64", shortenText(a.Field))
	}
	value := joinPath(path, "value")
	switch a.Op {
	case OpTerm:
		return firstError(checkPlain(joinPath(value, "text"), a.Term.Text), checkKnown(joinPath(value, "match"), a.Term.Match, MatchPhrase, MatchExact, MatchAny),
			checkKnown(joinPath(value, "case"), a.Term.Case, Insensitive, Sensitive))
	case OpIn:
		return a.In.checkList(value)
	case OpRange:
		return a.Range.checkInterval(value)
	case OpExists:
		return nil
	case OpToken:
		return firstError(checkPlain(joinPath(value, "tokenType"), a.Token.Type), checkPlain(joinPath(value, "tokenValue"), a.Token.Value))
	}
	return checkKnown(joinPath(path, "op"), a.Op, OpTerm, OpIn, OpRange, OpExists, OpToken)
}

func (l List) checkList(path string) error {
	if len(l.Values) == 0 {
		return errorAt(joinPath(path, "values"), "the list needs at least one value")
	}
	for i, v := range l.Values {
		if err := checkPlain(fmt.Sprintf("%s[%d]", joinPath(path, "values"), i), v); err != nil {
			return err
		}
	}
	return checkKnown(joinPath(path, "case"), l.Case, Insensitive, Sensitive)
}

func (r Interval) checkInterval(path string) error {
	if err := firstError(checkKnown(joinPath(path, "rangeType"), r.Type, RangeDate, RangeDateTime, RangeNumber),
		checkKnown(joinPath(path, "fromBoundary"), r.FromBoundary, Open, Closed), checkKnown(joinPath(path, "toBoundary"), r.ToBoundary, Open, Closed)); err != nil {
		return err
	}
	for _, end := range []struct{ name, text string }{{"from", r.From}, {"to", r.To}} {
		if end.text == "" {
			continue
		}
		if err := r.Type.checkValue(end.text); err != nil {
			return errorAt(joinPath(path, end.name), "%s", err)
		}
	}
	return nil
}

// checkValue reports whether text is a value of the type.
func (t RangeType) checkValue(text string) error {
	switch t {
	case RangeDate:
		if _, ok := parseDate(text); !ok {
			return fmt.Errorf("%q is not a date such as 2025-03-01", shortenText(text))
		}
	case RangeDateTime:
		if _, ok := parseInstant(text); !ok {
			return fmt.Errorf("%q is not an instant such as 2025-03-01T00:00:00Z, with at most 6 digits of a second", shortenText(text))
		}
	default:
		if !decimalText.MatchString(text) || len(text) > maxNumber {
			return fmt.Errorf("%q is not a plain decimal number", shortenText(text))
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

func checkPlain(path, text string) error {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return errorAt(path, "text must be valid UTF-8 without NUL")
	}
	return nil
}

func checkKnown[T ~string](path string, value T, valid ...T) error {
	if slices.Contains(valid, value) {
		return nil
	}
	return errorAt(path, "%q is unknown: use %s", shortenText(string(value)), listChoices(valid))
}

// checkOptional checks a value that may be left out.
func checkOptional[T ~string](value T, valid ...T) error {
	if value == "" {
		return nil
	}
	return checkKnown("", value, valid...)
}

func listChoices[T ~string](valid []T) string {
	texts := make([]string, len(valid))
	for i, v := range valid {
		texts[i] = string(v)
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " or " + texts[len(texts)-1]
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// errorAt puts the place in front of a message. The root has no name.
func errorAt(path, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if path == "" {
		return errors.New(message)
	}
	return errors.New(path + ": " + message)
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func elementPath(path string, i int) string {
	return fmt.Sprintf("%s[%d]", joinPath(path, "children"), i)
}

// shortenText keeps a message readable when the input is not.
func shortenText(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
