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
	_, err := c.compileRules()
	return err
}

// compileRules checks the section, and returns its rules ready to render, by name.
func (c Config) compileRules() (rules []compiledRule, err error) {
	var p problems
	for _, key := range slices.Sorted(maps.Keys(c.Fields)) {
		p.checkField(key, c.Fields[key])
	}
	for _, key := range slices.Sorted(maps.Keys(c.Rules)) {
		rules = append(rules, p.checkRule(key, c.Rules[key], c.Fields))
	}
	p.checkAmbiguity(c.Rules)
	if c.MaxLength < 0 || c.MaxParams < 0 {
		p.addProblem("maxLength", "limits must not be negative")
	}
	p.checkWhere(c)
	return rules, errors.Join(p.list...)
}

type problems struct{ list []error }

func (p *problems) addProblem(key, format string, args ...any) {
	p.list = append(p.list, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
}

func (p *problems) addError(key string, err error) {
	if err != nil {
		p.addProblem(key, "%s", err)
	}
}

func (p *problems) checkWhere(c Config) {
	if treeDepth(c.Where) > maxDepth-2 {
		p.addProblem("where", "nested deeper than %d: the window of a slice needs the rest", maxDepth-2)
	}
	for _, f := range c.Check(c.Where, Strict) {
		if f.IsError() {
			p.addProblem("where", "%s", f)
		}
	}
}

func treeDepth(e Expr) int {
	deepest := 0
	for _, child := range e.Children {
		deepest = max(deepest, treeDepth(child))
	}
	return deepest + 1
}

var allOps = []Op{OpTerm, OpIn, OpRange, OpExists, OpToken}

func (p *problems) checkField(key string, f Field) {
	path := "fields." + key
	if !fieldKey.MatchString(key) {
		p.addProblem(path, "a field key has lower case letters, digits and _, at most 64")
	}
	if f.Type == "" {
		p.addProblem(path+".type", "is missing: use DATE, DATETIME, NUMBER, TEXT, KEYWORD, BOOLEAN or TOKEN")
	} else {
		p.addError(path+".type", checkKnown("", f.Type, TypeDate, TypeDateTime, TypeNumber, TypeText, TypeKeyword, TypeBoolean, TypeToken))
	}
	p.addError(path+".cardinality", checkOptional(f.Cardinality, Single, Multi))
	for _, op := range f.Ops {
		p.addError(path+".ops", checkKnown("", Op(op), allOps...))
	}
	for _, op := range f.NegatableOps {
		if !acceptsOp(f.Ops, Op(op)) {
			p.addProblem(path+".negatableOps", "%s is not in ops", op)
		}
	}
	for _, m := range f.Matches {
		p.addError(path+".matches", checkKnown("", Match(m), MatchPhrase, MatchExact, MatchAny))
	}
	p.fieldText(path, f)
	p.fieldRange(path, f)
	if acceptsOp(f.Ops, OpExists) != f.Exists {
		p.addProblem(path+".exists", "ops and exists must agree: write EXISTS in ops and exists: true, or neither")
	}
}

func (p *problems) fieldText(path string, f Field) {
	if f.MinLen < 0 || f.MaxLen < 0 || f.InMax < 0 {
		p.addProblem(path, "minLen, maxLen and inMax must not be negative")
	}
	if f.MaxLen > 0 && f.MinLen > f.MaxLen {
		p.addProblem(path+".minLen", "%d is more than maxLen %d", f.MinLen, f.MaxLen)
	}
	for _, pattern := range []struct{ key, text string }{{"pattern", f.Pattern}, {"tokenPattern", f.TokenPattern}} {
		if _, err := regexp.Compile(pattern.text); err != nil {
			p.addProblem(path+"."+pattern.key, "%s", err)
		}
	}
	for _, kind := range f.TokenKinds {
		if kind != strings.ToLower(strings.TrimSpace(kind)) || kind == "" {
			p.addProblem(path+".tokenKinds", "%q: token types are lower case", kind)
		}
	}
}

func (p *problems) fieldRange(path string, f Field) {
	fits := map[DataType][]RangeType{TypeDate: {RangeDate}, TypeDateTime: {RangeDate, RangeDateTime}, TypeNumber: {RangeNumber}}[f.Type]
	ranged := f.Range != "" && f.Range != RangeNone
	switch {
	case ranged && !slices.Contains(fits, f.Range):
		p.addProblem(path+".range", "%s does not fit type %s", f.Range, f.Type)
	case ranged != acceptsOp(f.Ops, OpRange):
		p.addProblem(path+".range", "ops and range must agree: a field that takes RANGE says of which kind")
	}
	if !ranged && (f.Min != "" || f.Max != "") {
		p.addProblem(path+".min", "min and max need a range")
		return
	}
	if f.Whole && f.Range != RangeNumber {
		p.addProblem(path+".whole", "only ranges of numbers can be whole")
	}
	sound := true
	for _, end := range []struct{ key, text string }{{"min", f.Min}, {"max", f.Max}} {
		if end.text != "" {
			if err := f.Range.checkValue(end.text); err != nil {
				p.addProblem(path+"."+end.key, "%s", err)
				sound = false
			}
		}
	}
	if sound && f.Min != "" && f.Max != "" && compareValues(f.Range, f.Min, f.Max) > 0 {
		p.addProblem(path+".min", "%s is more than max %s", f.Min, f.Max)
	}
}
