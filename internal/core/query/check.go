package query

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Check holds an expression against what the fields can do. It looks at the tree
// as it was written, also at branches that Normalise would drop.
func (c Config) Check(e Expr, mode Mode) []Finding {
	return newChecker(c.WithDefaults(), nil).checkExpr(e, mode)
}

// checker is a Config ready to check.
type checker struct {
	fields map[string]limits
	window *Calendar // of the endpoint's date filter, if it has one
}

// limits is a field with its patterns compiled.
type limits struct {
	Field
	text, token *regexp.Regexp
}

// newChecker wants a Config with defaults. A pattern that does not compile
// refuses every value; Validate says so in words.
func newChecker(c Config, window *Calendar) *checker {
	out := &checker{fields: make(map[string]limits, len(c.Fields)), window: window}
	for key, f := range c.Fields {
		out.fields[key] = limits{f, wholeMatch(f.Pattern), wholeMatch(f.TokenPattern)}
	}
	return out
}

var matchesNothing = regexp.MustCompile(`[^\x00-\x{10FFFF}]`)

func wholeMatch(pattern string) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	re, err := regexp.Compile(`^(?:` + pattern + `)$`)
	if err != nil {
		return matchesNothing
	}
	return re
}

type checking struct {
	*checker
	report
	mode Mode
}

func (c *checker) checkExpr(e Expr, mode Mode) []Finding {
	run := checking{checker: c, mode: mode}
	if e.IsZero() {
		return nil
	}
	if err := e.Valid(); err != nil {
		run.addFinding("E-EXPR-INVALID", "", "", "%s", err)
		return run.findings
	}
	run.checkExpr(e, "", false)
	return run.findings
}

// checkExpr tracks whether a node stands under an odd number of NOTs.
func (c *checking) checkExpr(e Expr, path string, negated bool) {
	switch e.Kind {
	case KindAnd, KindOr:
		for i, child := range e.Children {
			c.checkExpr(child, elementPath(path, i), negated)
		}
	case KindNot:
		c.checkExpr(e.Children[0], joinPath(path, "child"), !negated)
	case KindAtom:
		c.checkAtom(*e.Atom, path, negated)
	}
}

func (c *checking) checkAtom(a Atom, path string, negated bool) {
	f, declared := c.fields[a.Field]
	if c.isWindow(a) && (!declared || len(f.Ops) == 0) {
		c.checkShape(a, path) // the date filter itself says what it can do
		return
	}
	if !declared {
		c.addFinding("E-FIELD-NOT-FOUND", path, a.Field, "field %s is not declared: the fields are %s", a.Field, c.listKeys())
		return
	}
	if len(f.Ops) == 0 {
		c.addFinding("E-CAPABILITY-MISSING", path, a.Field, "field %s has no ops, so the upstream cannot be asked for it", a.Field)
		return
	}
	if a = f.asAllowed(a); !acceptsOp(f.Ops, a.Op) {
		c.addFinding("E-OP-NOT-ALLOWED", path, a.Field, "field %s does not take %s: it takes %s", a.Field, a.Op, strings.Join(f.Ops, ", "))
		return
	}
	if negated {
		c.checkNegation(f, a, path)
	}
	switch a.Op {
	case OpTerm:
		c.checkTerm(f, a, path)
	case OpIn:
		c.checkList(f, a, path)
	case OpRange:
		c.checkInterval(f, a, path)
	case OpExists:
		if !f.Exists {
			c.addFinding("E-EXISTS-UNSUPPORTED", path, a.Field, "the upstream cannot tell whether %s exists", a.Field)
		}
	case OpToken:
		c.tokenValue(f, a, path)
	}
}

func (c *checker) isWindow(a Atom) bool {
	return c.window != nil && a.Op == OpRange && a.Field == c.window.filter.Field
}

func (c *checker) listKeys() string {
	keys := make([]string, 0, len(c.fields))
	for key := range c.fields {
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return "none"
	}
	slices.Sort(keys)
	return strings.Join(keys, ", ")
}

func acceptsOp(ops []string, op Op) bool { return slices.Contains(ops, string(op)) }

// asAllowed turns a phrase into a list of one value and back, whichever the
// field takes: Normalise treats the two as one condition.
func (f limits) asAllowed(a Atom) Atom {
	switch {
	case acceptsOp(f.Ops, a.Op):
	case a.Op == OpTerm && a.Term.Match == MatchPhrase && acceptsOp(f.Ops, OpIn):
		return Atom{Field: a.Field, Op: OpIn, In: List{Values: []string{a.Term.Text}, Case: a.Term.Case}}
	case a.Op == OpIn && acceptsOp(f.Ops, OpTerm):
		if values := listValues(a.In); len(values) == 1 {
			return Atom{Field: a.Field, Op: OpTerm, Term: Term{Text: values[0], Match: MatchPhrase, Case: a.In.Case}}
		}
	}
	return a
}

// refusesNot gives the code of the reason why a condition cannot be negated.
func (f limits) refusesNot(op Op) string {
	switch {
	case f.Not != nil && !*f.Not:
		return "E-NOT-UNSUPPORTED"
	case len(f.NegatableOps) > 0 && !acceptsOp(f.NegatableOps, op):
		return "E-NOT-OP-UNSUPPORTED"
	}
	return ""
}

func (c *checking) checkNegation(f limits, a Atom, path string) {
	code := f.refusesNot(a.Op)
	if code == "" {
		return
	}
	if c.mode == Lenient {
		code = "W-NOT-SKIPPED"
	}
	c.addFinding(code, path, a.Field, "%s on field %s cannot be negated at the upstream", a.Op, a.Field)
}

func (c *checking) checkTerm(f limits, a Atom, path string) {
	text := normalTerm(a.Term).Text
	value := joinPath(path, "value")
	if text == "" && !f.AllowBlank {
		c.addFinding("E-TERM-BLANK", joinPath(value, "text"), a.Field, "the text for field %s is blank", a.Field)
	}
	if text != "" {
		c.checkText(f, a.Field, text, joinPath(value, "text"))
	}
	if a.Term.Case == Sensitive && !f.CaseSensitive {
		c.addFinding("E-TERM-CASE-SENSITIVE", joinPath(value, "case"), a.Field, "field %s cannot tell upper from lower case", a.Field)
	}
	if len(f.Matches) > 0 && !slices.Contains(f.Matches, string(a.Term.Match)) {
		c.addFinding("E-TERM-MATCH-UNSUPPORTED", joinPath(value, "match"), a.Field, "field %s does not match %s: it matches %s", a.Field, a.Term.Match, strings.Join(f.Matches, ", "))
	}
}

// checkText holds a text against the limits of its field. A value of a list is such
// a text too: a list of one is a phrase.
func (c *checking) checkText(f limits, field, text, path string) {
	length := utf8.RuneCountInString(text)
	if f.MinLen > 0 && length < f.MinLen {
		c.addFinding("E-TERM-LEN-MIN", path, field, "text of %d characters on field %s: at least %d are needed", length, field, f.MinLen)
	}
	if f.MaxLen > 0 && length > f.MaxLen {
		c.addFinding("E-TERM-LEN-MAX", path, field, "text of %d characters on field %s: at most %d are taken", length, field, f.MaxLen)
	}
	if f.text != nil && !f.text.MatchString(text) {
		c.addFinding("E-TERM-PATTERN", path, field, "%q on field %s does not match %s", shortenText(text), field, f.Pattern)
	}
}

func (c *checking) checkList(f limits, a Atom, path string) {
	values := listValues(a.In)
	place := joinPath(path, "value.values")
	switch {
	case len(values) == 0:
		c.addFinding("E-IN-EMPTY", place, a.Field, "the list for field %s has no value", a.Field)
	case f.InMax > 0 && len(values) > f.InMax:
		c.addFinding("E-IN-SIZE", place, a.Field, "%d values on field %s: at most %d are taken", len(values), a.Field, f.InMax)
	}
	for _, v := range values {
		c.checkText(f, a.Field, v, place)
	}
	if a.In.Case == Sensitive && !f.InCaseSensitive {
		c.addFinding("E-IN-CASE-SENSITIVE", joinPath(path, "value.case"), a.Field, "lists on field %s cannot tell upper from lower case", a.Field)
	}
}

func (c *checking) tokenValue(f limits, a Atom, path string) {
	kind, id := strings.ToLower(strings.TrimSpace(a.Token.Type)), strings.TrimSpace(a.Token.Value)
	value := joinPath(path, "value")
	if (kind == "" || id == "") && c.mode == Strict {
		c.addFinding("E-TOKEN-BLANK", value, a.Field, "the token for field %s is blank", a.Field)
		return
	}
	if len(f.TokenKinds) > 0 && !slices.Contains(f.TokenKinds, kind) {
		c.addFinding("E-TOKEN-KIND", joinPath(value, "tokenType"), a.Field, "field %s does not know tokens of type %q: it knows %s", a.Field, shortenText(kind), strings.Join(f.TokenKinds, ", "))
	}
	if f.token != nil && !f.token.MatchString(id) {
		c.addFinding("E-TOKEN-PATTERN", joinPath(value, "tokenValue"), a.Field, "%q on field %s does not match %s", shortenText(id), a.Field, f.TokenPattern)
	}
}
