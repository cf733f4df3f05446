package registry

import (
	"encoding"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
)

// bindScalar reads one value into dst by its type and reports what is wrong.
func (b *binder) bindScalar(n *node, s *shape, dst reflect.Value, path string) bool {
	if n.what != words && n.what != number && n.what != boolean {
		b.wrongType(n, s, path)
		return false
	}
	if !utf8.ValidString(n.text) || strings.ContainsRune(n.text, 0) {
		b.reportProblem(n.at, path, "E-TYPE: text must be valid UTF-8 without NUL", "")
		return false
	}
	if len(s.enum) > 0 && !slices.Contains(s.enum, n.text) {
		code, ok := dictionary.CanonicalCode(n.text, s.enum)
		if !ok {
			shown := strconv.Quote(shortenText(n.text))
			if isPrivate(path) {
				shown = "this"
			}
			b.reportProblem(n.at, path, "E-DICT-CODE: "+shown+" is not a known value", valueHint(n.text, s.enum))
			return false
		}
		renamed := *n // YAML aliases share nodes
		renamed.text = code
		n = &renamed
	}
	if reader, ok := dst.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := reader.UnmarshalText([]byte(n.text)); err != nil {
			b.reportProblem(n.at, path, codedError("E-VALUE", err), "")
			return false
		}
		return true
	}
	switch s.typ.Kind() {
	case reflect.String:
		// A number or true is taken as it was typed: rows: 20 means "20".
		dst.SetString(n.text)
		return true
	case reflect.Bool:
		if n.what != boolean {
			b.wrongType(n, s, path)
			return false
		}
		dst.SetBool(strings.EqualFold(n.text, "true"))
		return true
	default:
		return b.bindNumber(n, s, dst, path)
	}
}

// bindNumber accepts decimal notation only: 0x10 and 1_000 read differently to
// different people. No setting of a source is negative.
func (b *binder) bindNumber(n *node, s *shape, dst reflect.Value, path string) bool {
	if n.what == words && !isHuge(n.text) {
		hint := ""
		if _, err := strconv.ParseFloat(n.text, 64); err == nil {
			hint = "remove the quotes"
		}
		b.reportProblem(n.at, path, "E-TYPE: expected "+s.describeExpected()+", found "+foundAt(n, path), hint)
		return false
	}
	var err error
	negative := false
	if s.typ.Kind() == reflect.Float64 {
		var value float64
		value, err = strconv.ParseFloat(strings.TrimPrefix(n.text, "+"), 64)
		if math.IsInf(value, 0) || math.IsNaN(value) || strings.ContainsAny(n.text, "xX_") {
			err = errors.Join(err, strconv.ErrSyntax)
		}
		negative = value < 0
		dst.SetFloat(value)
	} else {
		var value int64
		value, err = strconv.ParseInt(n.text, 10, s.typ.Bits())
		negative = value < 0
		dst.SetInt(value)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		b.reportProblem(n.at, path, "E-TYPE: "+n.text+" is out of range for "+s.describeExpected(), "")
	case err != nil || n.what != number:
		b.reportProblem(n.at, path, "E-TYPE: expected "+s.describeExpected()+", found "+foundAt(n, path), "")
	case negative:
		b.reportProblem(n.at, path, "E-NEGATIVE: "+n.text+" must not be negative", "")
	default:
		return true
	}
	return false
}

// isHuge finds digits the YAML parser took for text because no integer type
// holds them.
func isHuge(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return errors.Is(err, strconv.ErrRange)
}

// valueHint also knows older codes in the wrong case.
func valueHint(value string, valid []string) string {
	if code, ok := dictionary.CanonicalCode(strings.ToUpper(value), valid); ok {
		return "did you mean " + strconv.Quote(code) + "?"
	}
	return hintFor(value, valid, "valid values")
}
