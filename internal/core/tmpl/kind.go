package tmpl

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"time"
)

// kind is what a function wants as an argument.
type kind string

const (
	anything kind = "a value"
	text     kind = "a text"
	number   kind = "a number"
	operand  kind = "a number that is not written as text"
	addend   kind = "a number or a text"
	instant  kind = "an instant"
	list     kind = "a list"

	// Given in quotes and read when the template is compiled.
	datePattern kind = "a date pattern"
	zoneName    kind = "a time zone"
	spanText    kind = "a duration"
	regexText   kind = "a pattern"
)

// constants reads the kinds that must be given in quotes.
var constants = map[kind]func(string) (any, error){
	datePattern: func(s string) (any, error) { return parsePattern(s) },
	zoneName:    func(s string) (any, error) { return parseZone(s) },
	spanText:    func(s string) (any, error) { return parseSpan(s) },
	regexText:   func(s string) (any, error) { return parseRegex(s) },
}

var (
	errTooLong = fmt.Errorf("a text grew beyond %d bytes", maxRendered)
	timeType   = reflect.TypeFor[time.Time]()
	textType   = reflect.TypeFor[string]()
	intType    = reflect.TypeFor[int]()
	boolType   = reflect.TypeFor[bool]()
	listType   = reflect.TypeFor[[]any]()
)

func kindName(t reflect.Type) string {
	switch {
	case t == timeType:
		return string(instant)
	case t.Kind() == reflect.String:
		return string(text)
	case isNumber(t):
		return string(number)
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice:
		return string(list)
	}
	return "an object"
}

func isNumber(t reflect.Type) bool {
	return t.Kind() == reflect.Int || t.Kind() == reflect.Int64 || t.Kind() == reflect.Float64
}

// acceptsType checks at compile time, where a type is known.
func (k kind) acceptsType(t reflect.Type) bool {
	switch k {
	case text:
		return t.Kind() == reflect.String || t.Kind() == reflect.Bool || isNumber(t)
	case number, addend:
		return t.Kind() == reflect.String || isNumber(t)
	case operand:
		return isNumber(t)
	case instant:
		return t == timeType
	case list:
		return t.Kind() == reflect.Slice
	}
	return true
}

// convertValue is the check at run time. After it a text is a string, a number an
// int64 or float64, a list an []any.
func (k kind) convertValue(value any) (any, error) {
	switch k {
	case text:
		out, err := Text(value)
		return out, err
	case number, operand:
		if _, isText := value.(string); isText && k == operand {
			return nil, errors.New("a text is not a number: use number(text)")
		}
		return toNumber(value)
	case instant:
		if _, ok := value.(time.Time); !ok {
			return nil, fmt.Errorf("wants an instant, got %s: use parseDate or fromEpoch", describeValue(value))
		}
	case list:
		return toList(value)
	}
	return value, nil
}

// Text writes a value of the language: an instant as ISO-8601 in UTC, a number
// in digits, nothing for an absent value. Lists and objects have no text.
func Text(value any) (string, error) {
	if s, ok := value.(string); ok {
		return s, nil
	}
	out, err := AppendText(nil, value)
	return string(out), err
}

// AppendText is the Encoder that adds nothing to a value.
func AppendText(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return dst, nil
	case string:
		return append(dst, v...), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("a number is out of range")
		}
		return strconv.AppendFloat(dst, v, 'f', -1, 64), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case time.Time:
		return v.UTC().AppendFormat(dst, time.RFC3339Nano), nil
	case []any, []string:
		return nil, errors.New("a list has no text: use join(list, ',')")
	}
	return nil, errors.New("an object has no text: name one of its members")
}

func toNumber(value any) (any, error) {
	switch v := value.(type) {
	case int:
		return int64(v), nil
	case int64, float64:
		return v, nil
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n, nil
		}
		if f, err := strconv.ParseFloat(v, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f, nil
		}
		return nil, fmt.Errorf("%.40q is not a number", v)
	}
	return nil, fmt.Errorf("wants a number, got %s", describeValue(value))
}

func toList(value any) ([]any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case []any:
		return v, nil
	case []string:
		return plainValue(v).([]any), nil
	}
	return nil, fmt.Errorf("wants a list, got %s", describeValue(value))
}

func describeValue(value any) string {
	if value == nil {
		return "nothing"
	}
	return kindName(reflect.TypeOf(value))
}

// Bounds of a regular expression: RE2 is linear, and these bound the factor.
const (
	maxRegexSize  = 200
	maxRegexSteps = 1000
	maxRegexText  = 64 << 10
)

func parseRegex(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxRegexSize {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxRegexSize)
	}
	if err := boundRegex(pattern); err != nil {
		return nil, err
	}
	return regexp.Compile(pattern)
}
