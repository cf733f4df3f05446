package query

import (
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/tmpl"
	"github.com/patra-ingest/patra/internal/core/zone"
)

// compiledRule is a rule with its templates.
type compiledRule struct {
	Rule
	name     string
	template *tmpl.AtomTemplate
	item     *tmpl.AtomTemplate
	params   map[string]*tmpl.AtomTemplate
	names    map[string]bool // what the text that is sent depends on
	bare     bool            // IN: the text is the values and nothing around them
}

// compileRule reports the key of a template that does not compile.
func compileRule(name string, r Rule, fail func(key string, err error)) compiledRule {
	out := compiledRule{Rule: r, name: name, params: map[string]*tmpl.AtomTemplate{}, names: map[string]bool{}}
	compile := func(key, text string) *tmpl.AtomTemplate {
		t, err := tmpl.CompileAtom(text)
		if err != nil {
			fail(key, err)
		}
		return t
	}
	if r.Template != "" {
		out.template = compile("template", r.Template)
		out.read(out.template)
		out.bare = out.template != nil && r.Op == OpIn && isBare(out.template)
	}
	if r.ItemTemplate != "" {
		out.item = compile("itemTemplate", r.ItemTemplate)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Params)) {
		out.params[key] = compile("params."+key, r.Params[key])
		out.read(out.params[key])
	}
	return out
}

// read notes what the templates depend on. The item template is not among them:
// it is read through ${items}.
func (r *compiledRule) read(t *tmpl.AtomTemplate) {
	if t == nil {
		return
	}
	for _, name := range t.Names() {
		r.names[name] = true
	}
}

// isBare tries the template out: ${items} alone, however it is spelled, leaves
// the values side by side, and they need parentheses next to other conditions.
func isBare(t *tmpl.AtomTemplate) bool {
	const probe = "x-values-x"
	text, err := t.Render(tmpl.AtomVars{Items: probe})
	return err == nil && strings.EqualFold(strings.TrimSpace(text), probe)
}

// reads reports whether the text that is sent depends on one of the variables.
func (r compiledRule) reads(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return r.names[name] })
}

// saysNot reports whether the rule's own text carries the negation.
func (r compiledRule) saysNot() bool {
	return r.Negated != nil && *r.Negated || r.reads("negated") || r.Op == OpExists && r.reads("exists")
}

// specificity counts what a rule asks for beyond field and operator.
func (r Rule) specificity() int {
	count := 0
	for _, set := range []bool{r.Match != "", r.Negated != nil, r.ValueType != ""} {
		if set {
			count++
		}
	}
	return count
}

func (r Rule) fits(k atomKind) bool {
	return r.Field == k.field && r.Op == k.op && (r.Match == "" || r.Match == k.match) &&
		(r.Negated == nil || *r.Negated == k.negated) && (r.ValueType == "" || r.ValueType == k.value)
}

// atomKind is what a rule is chosen by.
type atomKind struct {
	field   string
	op      Op
	match   Match
	negated bool
	value   ValueType
}

// overlaps reports whether some atom fits both rules.
func (r Rule) overlaps(o Rule) bool {
	return r.Field == o.Field && r.Op == o.Op && r.Emit == o.Emit &&
		(r.Match == "" || o.Match == "" || r.Match == o.Match) &&
		(r.Negated == nil || o.Negated == nil || *r.Negated == *o.Negated) &&
		(r.ValueType == "" || o.ValueType == "" || r.ValueType == o.ValueType)
}

// ambiguous finds rules of which neither is more specific: which of them is
// taken would depend on an order that nobody wrote down.
func (p *problems) ambiguous(rules map[string]Rule) {
	names := slices.Sorted(maps.Keys(rules))
	for i, a := range names {
		for _, b := range names[i+1:] {
			if rules[a].overlaps(rules[b]) && rules[a].specificity() == rules[b].specificity() {
				p.add("rules."+b, "fits the same conditions as rules.%s and neither is more specific: set match, negated or valueType", a)
			}
		}
	}
}

func (p *problems) rule(key string, r Rule, fields map[string]Field) {
	path := "rules." + key
	f, declared := fields[r.Field]
	switch {
	case r.Field == "":
		p.add(path+".field", "is missing")
	case !declared:
		p.add(path+".field", "%q is not declared under fields", shorten(r.Field))
	}
	if err := known("", r.Op, allOps...); err != nil {
		p.add(path+".op", "%s", err)
		return
	}
	if declared && !takes(f.Ops, r.Op) {
		p.add(path+".op", "field %s does not take %s: add it to its ops or remove the rule", r.Field, r.Op)
	}
	p.check(path+".emit", known("", r.Emit, EmitQuery, EmitParams))
	p.ruleScope(path, r, f)
	p.ruleDates(path, r)
	failed := false
	compiled := compileRule(key, r, func(part string, err error) {
		failed = true
		p.add(path+"."+part, "%s", err)
	})
	p.ruleParts(path, r)
	if !failed {
		p.ruleReads(path, compiled)
	}
}

// ruleScope checks what the rule is for.
func (p *problems) ruleScope(path string, r Rule, f Field) {
	p.check(path+".match", optional(r.Match, MatchPhrase, MatchExact, MatchAny))
	if r.Match != "" && r.Op != OpTerm {
		p.add(path+".match", "only TERM has a match")
	}
	p.check(path+".valueType", optional(r.ValueType, ValueString, ValueDate, ValueDateTime, ValueNumber))
	if r.ValueType != "" && (r.Op == OpRange) == (r.ValueType == ValueString) {
		p.add(path+".valueType", "%s does not fit %s: a range has DATE, DATETIME or NUMBER, everything else STRING", r.ValueType, r.Op)
	}
	if r.Negated != nil && *r.Negated && f.Not != nil && !*f.Not {
		p.add(path+".negated", "field %s has not: false", r.Field)
	}
}

// ruleParts checks which templates there must be.
func (p *problems) ruleParts(path string, r Rule) {
	if r.Op != OpIn && (r.ItemTemplate != "" || r.Joiner != "") {
		p.add(path+".itemTemplate", "itemTemplate and joiner are for IN")
	}
	if r.Emit == EmitParams {
		if len(r.Params) == 0 {
			p.add(path+".params", "a rule that emits PARAMS needs params")
		}
		if _, ok := r.Params["query"]; ok {
			p.add(path+".params.query", "query is the key of the query text: use emit QUERY")
		}
		if r.Template != "" || r.Group {
			p.add(path+".template", "template and group are for emit QUERY")
		}
		return
	}
	if len(r.Params) > 0 {
		p.add(path+".params", "params are for emit PARAMS")
	}
	if r.Template == "" && r.Op == OpIn {
		p.add(path+".itemTemplate", "an IN rule needs itemTemplate, or a template with ${items}")
	} else if r.Template == "" {
		p.add(path+".template", "is missing")
	}
}

// ruleReads finds templates that would say the same whatever is asked.
func (p *problems) ruleReads(path string, r compiledRule) {
	place := path + ".template"
	if r.Emit == EmitParams {
		place = path + ".params"
	}
	if len(r.params) == 0 && r.template == nil {
		return
	}
	switch r.Op {
	case OpTerm:
		p.needs(place, r, "v", "quoted")
	case OpIn:
		p.needs(place, r, "items")
		if r.item != nil && !slices.Contains(r.item.Names(), "v") && !slices.Contains(r.item.Names(), "quoted") {
			p.add(path+".itemTemplate", "does not use ${v} or ${quoted}, so every value would be the same")
		}
	case OpRange:
		p.needs(place, r, "from", "to")
		for _, end := range []struct {
			key, name string
			open      *string
		}{{"openFrom", "from", r.OpenFrom}, {"openTo", "to", r.OpenTo}} {
			if end.open != nil && !r.reads(end.name) {
				p.add(path+"."+end.key, "the rule does not use ${%s}, so this would never be written", end.name)
			}
		}
	case OpToken:
		p.needs(place, r, "token", "v", "quoted")
	}
}

func (p *problems) needs(place string, r compiledRule, names ...string) {
	if r.reads(names...) {
		return
	}
	p.add(place, "does not use %s, so the value of the condition would be lost", choice(braced(names)))
}

func braced(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = "${" + name + "}"
	}
	return out
}

func (p *problems) ruleDates(path string, r Rule) {
	dated := r.Precision != "" || r.Format != ""
	if r.Op != OpRange {
		p.onlyForRange(path, r)
		return
	}
	if r.ValueType == ValueNumber && dated {
		p.add(path+".precision", "precision and format are for dates")
	}
	p.check(path+".bounds", known("", r.Bounds, InclusiveBounds, HalfOpenBounds))
	p.check(path+".precision", optional(r.Precision, Second, Minute, Day, Month))
	p.check(path+".format", checkFormat(r.precision(RangeDate), zone.UTC, r.Format))
}

func (p *problems) onlyForRange(path string, r Rule) {
	for _, key := range []struct {
		name string
		set  bool
	}{{"bounds", r.Bounds != ""}, {"precision", r.Precision != ""}, {"format", r.Format != ""}, {"openFrom", r.OpenFrom != nil}, {"openTo", r.OpenTo != nil}} {
		if key.set {
			p.add(path+"."+key.name, "is for RANGE only")
		}
	}
}

// precision is what the upstream names. A rule with a format of its own has
// that one for dates and instants alike.
func (r Rule) precision(t RangeType) Precision {
	switch {
	case r.Precision != "":
		return r.Precision
	case r.Format == "" && t == RangeDateTime:
		return Second
	}
	return Day
}
