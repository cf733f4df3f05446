package query

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Validate checks the section itself: one line per problem, each starting with
// the key. It wants a Config with defaults.
func (c Config) Validate() error {
	var p problems
	for _, key := range slices.Sorted(maps.Keys(c.Fields)) {
		p.field(key, c.Fields[key])
	}
	for _, key := range slices.Sorted(maps.Keys(c.Rules)) {
		p.rule(key, c.Rules[key], c.Fields)
	}
	p.ambiguous(c.Rules)
	if c.MaxLength < 0 || c.MaxParams < 0 {
		p.add("maxLength", "limits must not be negative")
	}
	p.where(c)
	return errors.Join(p.list...)
}

type problems struct{ list []error }

func (p *problems) add(key, format string, args ...any) {
	p.list = append(p.list, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
}

func (p *problems) check(key string, err error) {
	if err != nil {
		p.add(key, "%s", err)
	}
}

func (p *problems) where(c Config) {
	if depth(c.Where) > maxDepth-2 {
		p.add("where", "nested deeper than %d: the window of a slice needs the rest", maxDepth-2)
	}
	for _, f := range c.Check(c.Where, Strict) {
		if f.IsError() {
			p.add("where", "%s", f)
		}
	}
}

func depth(e Expr) int {
	deepest := 0
	for _, child := range e.Children {
		deepest = max(deepest, depth(child))
	}
	return deepest + 1
}

var allOps = []Op{OpTerm, OpIn, OpRange, OpExists, OpToken}

func (p *problems) field(key string, f Field) {
	path := "fields." + key
	if !fieldKey.MatchString(key) {
		p.add(path, "a field key has lower case letters, digits and _, at most 64")
	}
	if f.Type == "" {
		p.add(path+".type", "is missing: use DATE, DATETIME, NUMBER, TEXT, KEYWORD, BOOLEAN or TOKEN")
	} else {
		p.check(path+".type", known("", f.Type, TypeDate, TypeDateTime, TypeNumber, TypeText, TypeKeyword, TypeBoolean, TypeToken))
	}
	p.check(path+".cardinality", optional(f.Cardinality, Single, Multi))
	for _, op := range f.Ops {
		p.check(path+".ops", known("", Op(op), allOps...))
	}
	for _, op := range f.NegatableOps {
		if !takes(f.Ops, Op(op)) {
			p.add(path+".negatableOps", "%s is not in ops", op)
		}
	}
	for _, m := range f.Matches {
		p.check(path+".matches", known("", Match(m), MatchPhrase, MatchExact, MatchAny))
	}
	p.fieldText(path, f)
	p.fieldRange(path, f)
	if takes(f.Ops, OpExists) != f.Exists {
		p.add(path+".exists", "ops and exists must agree: write EXISTS in ops and exists: true, or neither")
	}
}

func (p *problems) fieldText(path string, f Field) {
	if f.MinLen < 0 || f.MaxLen < 0 || f.InMax < 0 {
		p.add(path, "minLen, maxLen and inMax must not be negative")
	}
	if f.MaxLen > 0 && f.MinLen > f.MaxLen {
		p.add(path+".minLen", "%d is more than maxLen %d", f.MinLen, f.MaxLen)
	}
	for _, pattern := range []struct{ key, text string }{{"pattern", f.Pattern}, {"tokenPattern", f.TokenPattern}} {
		if _, err := regexp.Compile(pattern.text); err != nil {
			p.add(path+"."+pattern.key, "%s", err)
		}
	}
	for _, kind := range f.TokenKinds {
		if kind != strings.ToLower(strings.TrimSpace(kind)) || kind == "" {
			p.add(path+".tokenKinds", "%q: token types are lower case", kind)
		}
	}
}

func (p *problems) fieldRange(path string, f Field) {
	fits := map[DataType][]RangeType{TypeDate: {RangeDate}, TypeDateTime: {RangeDate, RangeDateTime}, TypeNumber: {RangeNumber}}[f.Type]
	ranged := f.Range != "" && f.Range != RangeNone
	switch {
	case ranged && !slices.Contains(fits, f.Range):
		p.add(path+".range", "%s does not fit type %s", f.Range, f.Type)
	case ranged != takes(f.Ops, OpRange):
		p.add(path+".range", "ops and range must agree: a field that takes RANGE says of which kind")
	}
	if !ranged && (f.Min != "" || f.Max != "") {
		p.add(path+".min", "min and max need a range")
		return
	}
	if f.Whole && f.Range != RangeNumber {
		p.add(path+".whole", "only ranges of numbers can be whole")
	}
	sound := true
	for _, end := range []struct{ key, text string }{{"min", f.Min}, {"max", f.Max}} {
		if end.text != "" {
			if err := f.Range.fits(end.text); err != nil {
				p.add(path+"."+end.key, "%s", err)
				sound = false
			}
		}
	}
	if sound && f.Min != "" && f.Max != "" && compare(f.Range, f.Min, f.Max) > 0 {
		p.add(path+".min", "%s is more than max %s", f.Min, f.Max)
	}
}
