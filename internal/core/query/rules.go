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
		out.noteVariables(out.template)
		out.bare = out.template != nil && r.Op == OpIn && isBare(out.template)
	}
	if r.ItemTemplate != "" {
		out.item = compile("itemTemplate", r.ItemTemplate)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Params)) {
		out.params[key] = compile("params."+key, r.Params[key])
		out.noteVariables(out.params[key])
	}
	return out
}

// noteVariables notes what the templates depend on. The item template is not among them:
// it is read through ${items}.
func (r *compiledRule) noteVariables(t *tmpl.AtomTemplate) {
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

// readsAny reports whether the text that is sent depends on one of the variables.
func (r compiledRule) readsAny(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return r.names[name] })
}

// saysNot reports whether the rule's own text carries the negation.
func (r compiledRule) saysNot() bool {
	return r.Negated != nil && *r.Negated || r.readsAny("negated") || r.Op == OpExists && r.readsAny("exists")
}

// countDemands counts what a rule asks for beyond field and operator.
func (r Rule) countDemands() int {
	count := 0
	for _, set := range []bool{r.Match != "", r.Negated != nil, r.ValueType != ""} {
		if set {
			count++
		}
	}
	return count
}

func (r Rule) fitsAtom(k atomKind) bool {
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

// overlapsRule reports whether some atom fits both rules.
func (r Rule) overlapsRule(o Rule) bool {
	return r.Field == o.Field && r.Op == o.Op && r.Emit == o.Emit &&
		(r.Match == "" || o.Match == "" || r.Match == o.Match) &&
		(r.Negated == nil || o.Negated == nil || *r.Negated == *o.Negated) &&
		(r.ValueType == "" || o.ValueType == "" || r.ValueType == o.ValueType)
}

// checkAmbiguity finds rules of which neither is more specific: which of them is taken
// would depend on an order that is written nowhere.
func (p *problems) checkAmbiguity(rules map[string]Rule) {
	names := slices.Sorted(maps.Keys(rules))
	for i, a := range names {
		for _, b := range names[i+1:] {
			if rules[a].overlapsRule(rules[b]) && rules[a].countDemands() == rules[b].countDemands() {
				p.addProblem("rules."+b, "fits the same conditions as rules.%s and neither is more specific: set match, negated or valueType", a)
			}
		}
	}
}

func (p *problems) checkRule(key string, r Rule, fields map[string]Field) (compiled compiledRule) {
	path := "rules." + key
	f, declared := fields[r.Field]
	switch {
	case r.Field == "":
		p.addProblem(path+".field", "is missing")
	case !declared:
		p.addProblem(path+".field", "%q is not declared under fields", shortenText(r.Field))
	}
	if err := checkKnown("", r.Op, allOps...); err != nil {
		p.addProblem(path+".op", "%s", err)
		return compiled
	}
	if declared && !acceptsOp(f.Ops, r.Op) {
		p.addProblem(path+".op", "field %s does not take %s: add it to its ops or remove the rule", r.Field, r.Op)
	}
	p.addError(path+".emit", checkKnown("", r.Emit, EmitQuery, EmitParams))
	p.ruleScope(path, r, f)
	p.ruleDates(path, r)
	failed := false
	compiled = compileRule(key, r, func(part string, err error) {
		failed = true
		p.addProblem(path+"."+part, "%s", err)
	})
	p.ruleParts(path, r)
	if !failed {
		p.ruleReads(path, compiled)
	}
	return compiled
}

// ruleScope checks what the rule is for.
func (p *problems) ruleScope(path string, r Rule, f Field) {
	p.addError(path+".match", checkOptional(r.Match, MatchPhrase, MatchExact, MatchAny))
	if r.Match != "" && r.Op != OpTerm {
		p.addProblem(path+".match", "only TERM has a match")
	}
	p.addError(path+".valueType", checkOptional(r.ValueType, ValueString, ValueDate, ValueDateTime, ValueNumber))
	if r.ValueType != "" && (r.Op == OpRange) == (r.ValueType == ValueString) {
		p.addProblem(path+".valueType", "%s does not fit %s: a range has DATE, DATETIME or NUMBER, everything else STRING", r.ValueType, r.Op)
	}
	if r.Negated != nil && *r.Negated && f.Not != nil && !*f.Not {
		p.addProblem(path+".negated", "field %s has not: false", r.Field)
	}
}

// ruleParts checks which templates there must be.
func (p *problems) ruleParts(path string, r Rule) {
	if r.Op != OpIn && (r.ItemTemplate != "" || r.Joiner != "") {
		p.addProblem(path+".itemTemplate", "itemTemplate and joiner are for IN")
	}
	if r.Emit == EmitParams {
		if len(r.Params) == 0 {
			p.addProblem(path+".params", "a rule that emits PARAMS needs params")
		}
		if _, ok := r.Params["query"]; ok {
			p.addProblem(path+".params.query", "query is the key of the query text: use emit QUERY")
		}
		if r.Template != "" || r.Group {
			p.addProblem(path+".template", "template and group are for emit QUERY")
		}
		return
	}
	if len(r.Params) > 0 {
		p.addProblem(path+".params", "params are for emit PARAMS")
	}
	if r.Template == "" && r.Op == OpIn {
		p.addProblem(path+".itemTemplate", "an IN rule needs itemTemplate, or a template with ${items}")
	} else if r.Template == "" {
		p.addProblem(path+".template", "is missing")
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
		p.checkNeeds(place, r, "v", "quoted")
	case OpIn:
		p.checkNeeds(place, r, "items")
		if r.item != nil && !slices.Contains(r.item.Names(), "v") && !slices.Contains(r.item.Names(), "quoted") {
			p.addProblem(path+".itemTemplate", "does not use ${v} or ${quoted}, so every value would be the same")
		}
	case OpRange:
		p.checkNeeds(place, r, "from", "to")
		for _, end := range []struct {
			key, name string
			open      *string
		}{{"openFrom", "from", r.OpenFrom}, {"openTo", "to", r.OpenTo}} {
			if end.open != nil && !r.readsAny(end.name) {
				p.addProblem(path+"."+end.key, "the rule does not use ${%s}, so this would never be written", end.name)
			}
		}
	case OpToken:
		p.checkNeeds(place, r, "token", "v", "quoted")
	}
}

func (p *problems) checkNeeds(place string, r compiledRule, names ...string) {
	if r.readsAny(names...) {
		return
	}
	p.addProblem(place, "does not use %s, so the value of the condition would be lost", listChoices(inBraces(names)))
}

func inBraces(names []string) []string {
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
		p.addProblem(path+".precision", "precision and format are for dates")
	}
	p.addError(path+".bounds", checkKnown("", r.Bounds, InclusiveBounds, HalfOpenBounds))
	p.addError(path+".precision", checkOptional(r.Precision, Second, Minute, Hour, Day, Month, Year))
	p.addError(path+".format", checkFormat(r.precisionOf(RangeDate), zone.UTC, r.Format))
}

func (p *problems) onlyForRange(path string, r Rule) {
	for _, key := range []struct {
		name string
		set  bool
	}{{"bounds", r.Bounds != ""}, {"precision", r.Precision != ""}, {"format", r.Format != ""}, {"openFrom", r.OpenFrom != nil}, {"openTo", r.OpenTo != nil}} {
		if key.set {
			p.addProblem(path+"."+key.name, "is for RANGE only")
		}
	}
}

// precisionOf returns what the upstream names. A rule with a format of its own has
// that one for dates and instants alike.
func (r Rule) precisionOf(t RangeType) Precision {
	switch {
	case r.Precision != "":
		return r.Precision
	case r.Format == "" && t == RangeDateTime:
		return Second
	}
	return Day
}
