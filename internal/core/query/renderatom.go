package query

import (
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// writeAtom writes one condition by its rules. negated: it stands directly under a NOT.
func (w *writer) writeAtom(a Atom, at position, negated bool) fragment {
	f, declared := w.program.checker.fields[a.Field]
	if declared {
		a = f.asAllowed(a)
		if at.odd && f.refusesNot(a.Op) != "" {
			return fragment{} // a warning of the check; a strict run does not come here
		}
	}
	if a.Op == OpExists { // missing(x) and not exists(x) are one condition
		negated = negated == a.Exists
	}
	kind := w.atomKindOf(a, negated)
	query, params := w.program.chooseRule(kind, EmitQuery), w.program.chooseRule(kind, EmitParams)
	if query == nil && params == nil {
		w.noteUnwritten(a, at, negated)
		return fragment{}
	}
	if w.program.checker.isWindow(a) && at.conjunct && !negated {
		w.window = true // a rule for the negation says nothing about the window
	}
	if params != nil {
		w.emitParams(a, at, negated, params)
	}
	if query == nil {
		return fragment{}
	}
	return w.writeText(a, at, negated, query)
}

func (w *writer) atomKindOf(a Atom, negated bool) atomKind {
	k := atomKind{field: a.Field, op: a.Op, negated: negated, value: ValueString}
	switch a.Op {
	case OpTerm:
		k.match = a.Term.Match
	case OpRange:
		k.value = ValueType(a.Range.Type)
		if w.program.checker.isWindow(a) {
			k.value = w.program.window.valueType()
		}
	}
	return k
}

// valueType returns the type of a date filter's texts, whatever was asked.
func (c Calendar) valueType() ValueType {
	if c.filter.Precision == Second || c.filter.Precision == Minute || c.filter.Precision == Hour {
		return ValueDateTime
	}
	return ValueDate
}

// noteUnwritten notes a condition without a rule. The request's own templates may write
// the window of a slice instead, but they know only one window.
func (w *writer) noteUnwritten(a Atom, at position, negated bool) {
	if w.program.checker.isWindow(a) && at.conjunct && !negated {
		if w.windows++; w.windows == 1 {
			return
		}
		w.byMode(w.mode, "RENDER-RULE-MISSING", at.path, a.Field, "%s is a second range on field %s; without a rule the request can hold one", a, a.Field)
		return
	}
	w.byMode(w.mode, "RENDER-RULE-MISSING", at.path, a.Field, "no rule writes %s%s on field %s: dropping it would change what is selected", notWord(negated), a.Op, a.Field)
}

func notWord(negated bool) string {
	if negated {
		return "negated "
	}
	return ""
}

// writeText renders a QUERY rule.
func (w *writer) writeText(a Atom, at position, negated bool, r *compiledRule) fragment {
	vars, ok := w.atomVars(a, at, negated, r)
	if !ok {
		return fragment{}
	}
	text, err := r.template.Render(vars)
	if err != nil || strings.TrimSpace(text) == "" {
		w.noteUnrendered(a, at, "rules."+r.name+".template", err)
		return fragment{}
	}
	out := fragment{text, closed}
	switch {
	case r.Group:
		out.text = "(" + text + ")"
	case a.Op == OpIn && len(a.In.Values) > 1 && r.bare:
		out.shape = loose
	}
	if negated && !r.saysNot() {
		if code := w.program.checker.fields[a.Field].refusesNot(a.Op); code != "" {
			w.addFinding(code, at.path, a.Field, "rules.%s does not use ${exists}, and NOT is not supported on field %s", r.name, a.Field)
			return fragment{}
		}
		if out.shape == closed && r.Group {
			return fragment{"NOT " + out.text, closed}
		}
		return negateFragment(out)
	}
	return out
}

// emitParams renders a PARAMS rule.
func (w *writer) emitParams(a Atom, at position, negated bool, r *compiledRule) {
	switch {
	case !at.conjunct:
		w.addFinding("E-PARAMS-UNDER-OR", at.path, a.Field, "%s becomes parameters, which cannot stand under OR or NOT", a)
		return
	case negated && !r.saysNot():
		w.addFinding("E-PARAMS-NEGATED", at.path, a.Field, "%s becomes parameters, which cannot be negated: add a rule with negated: true", a)
		return
	}
	vars, ok := w.atomVars(a, at, negated, r)
	if !ok {
		return
	}
	said := false
	for _, key := range slices.Sorted(maps.Keys(r.params)) {
		text, err := r.params[key].Render(vars)
		if err != nil {
			w.noteUnrendered(a, at, "rules."+r.name+".params."+key, err)
			return
		}
		if text != "" { // such as the bound that an open range lacks
			w.params[key] = append(w.params[key], written{a.Field, text, at.path})
			said = true
		}
	}
	if !said {
		w.noteUnrendered(a, at, "rules."+r.name+".params", nil)
	}
}

func (w *writer) noteUnrendered(a Atom, at position, key string, err error) {
	if err != nil {
		w.addFinding("E-RENDER-FAILED", at.path, a.Field, "%s: %s", key, err)
		return
	}
	w.addFinding("E-RENDER-EMPTY", at.path, a.Field, "%s writes nothing for %s", key, a)
}

// atomVars returns the values of a condition as its templates see them.
func (w *writer) atomVars(a Atom, at position, negated bool, r *compiledRule) (tmpl.AtomVars, bool) {
	vars := tmpl.AtomVars{Field: a.Field, Negated: negated, Exists: !negated}
	switch a.Op {
	case OpTerm:
		vars.V, vars.Quoted = a.Term.Text, quoteText(a.Term.Text)
		vars.Match, vars.Case = string(a.Term.Match), string(a.Term.Case)
	case OpIn:
		items, ok := w.renderItems(a, at, r)
		vars.Items, vars.Case = items, string(a.In.Case)
		return vars, ok
	case OpRange:
		from, to, ok := w.rangeBounds(a, at, r)
		vars.From, vars.To = from, to
		return vars, ok
	case OpToken:
		vars.Type, vars.Token = a.Token.Type, a.Token.Value
		vars.V, vars.Quoted = a.Token.Value, quoteText(a.Token.Value)
	}
	return vars, true
}

func (w *writer) renderItems(a Atom, at position, r *compiledRule) (string, bool) {
	texts := make([]string, len(a.In.Values))
	for i, v := range a.In.Values {
		text, err := r.item.Render(tmpl.AtomVars{Field: a.Field, V: v, Quoted: quoteText(v), Match: string(MatchPhrase), Case: string(a.In.Case)})
		if err != nil || strings.TrimSpace(text) == "" {
			w.noteUnrendered(a, at, "rules."+r.name+".itemTemplate", err)
			return "", false
		}
		texts[i] = text
	}
	return strings.Join(texts, r.Joiner), true
}

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// quoteText also escapes the backslash: a text that ends in one would otherwise
// swallow the closing quote.
func quoteText(text string) string { return `"` + quoting.Replace(text) + `"` }
