package query

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// fragment is a piece of query text. Parentheses are decided by its shape,
// never by looking at the text.
type fragment struct {
	text  string
	shape shape
}

type shape int

const (
	nothing shape = iota // says nothing to the query: a parameter, or the window
	closed               // one condition
	loose                // several conditions side by side
)

func (f fragment) inParentheses() string {
	if f.shape == loose {
		return "(" + f.text + ")"
	}
	return f.text
}

// position is where a node stands.
type position struct {
	path     string
	conjunct bool // the whole expression is this node and others
	odd      bool // under an odd number of NOTs: selecting too widely loses items
}

type writer struct {
	report
	program *Program
	mode    Mode
	params  map[string][]written
	window  bool // the range on the filter's field was written
	windows int  // ranges on the filter's field that no rule writes
}

// written is one value for a standard key.
type written struct{ field, value, path string }

func (p *Program) writeExpr(e Expr, mode Mode) (Rendered, []Finding) {
	w := &writer{program: p, mode: mode, params: map[string][]written{}}
	e = Normalise(e)
	if e.Kind == KindConst {
		if !e.Truth {
			w.byMode(mode, "CONST-FALSE", "", "", "the expression selects nothing")
		}
		return Rendered{}, w.findings
	}
	text := w.writeExpr(e, position{conjunct: true}).text
	out := Rendered{Query: text, Params: w.standardKeys(), Window: w.window}
	w.checkLimits(out)
	if w.hasErrors() {
		return Rendered{}, w.findings
	}
	return out, w.findings
}

func (w *writer) writeExpr(e Expr, at position) fragment {
	switch e.Kind {
	case KindAnd:
		return w.writeBranch(e, at, " AND ")
	case KindOr:
		at.conjunct = false
		return w.writeBranch(e, at, " OR ")
	case KindNot:
		return w.writeNot(e.Children[0], position{joinPath(at.path, "child"), at.conjunct, !at.odd})
	}
	return w.writeAtom(*e.Atom, at, false)
}

func (w *writer) writeBranch(e Expr, at position, word string) fragment {
	var parts []fragment
	for i, child := range e.Children {
		part := w.writeExpr(child, position{elementPath(at.path, i), at.conjunct, at.odd})
		if part.shape != nothing {
			parts = append(parts, part)
		}
	}
	switch len(parts) {
	case 0:
		return fragment{}
	case 1:
		return parts[0]
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.inParentheses()
	}
	return fragment{strings.Join(texts, word), loose}
}

// writeNot always writes parentheses: how tightly an upstream binds NOT to the text
// of a rule is unknown here.
func (w *writer) writeNot(child Expr, at position) fragment {
	if child.Kind == KindAtom {
		return w.writeAtom(*child.Atom, at, true)
	}
	at.conjunct = false
	return negateFragment(w.writeExpr(child, at))
}

func negateFragment(f fragment) fragment {
	if f.shape == nothing {
		return f
	}
	return fragment{"NOT (" + f.text + ")", closed}
}

// standardKeys joins what the conditions wrote. A key takes several values only
// if that was declared: for the field of each condition, or for a field named
// like the key.
func (w *writer) standardKeys() map[string]string {
	out := make(map[string]string, len(w.params))
	for _, key := range slices.Sorted(maps.Keys(w.params)) {
		values := w.params[key]
		if len(values) > 1 && !w.joinValues(key, values) {
			w.addFinding("E-PARAM-CONFLICT", values[1].path, values[1].field, "standard key %s is written by a condition on %s and one on %s, but takes one value: declare a field %s with cardinality MULTI if it takes several",
				key, values[0].field, values[1].field, key)
			continue
		}
		texts := make([]string, len(values))
		for i, v := range values {
			if texts[i] = v.value; len(values) > 1 && strings.Contains(v.value, ListSeparator) {
				w.addFinding("E-PARAM-SEPARATOR", v.path, v.field, "%q for standard key %s contains %s, which separates values", shortenText(v.value), key, ListSeparator)
			}
		}
		out[key] = strings.Join(texts, ListSeparator)
	}
	return out
}

func (w *writer) joinValues(key string, values []written) bool {
	fields := w.program.config.Fields
	if fields[key].Cardinality == Multi {
		return true
	}
	for _, v := range values {
		if fields[v.field].Cardinality != Multi {
			return false
		}
	}
	return true
}

func (w *writer) checkLimits(out Rendered) {
	cfg := w.program.config
	if length := utf8.RuneCountInString(out.Query); cfg.MaxLength > 0 && length > cfg.MaxLength {
		w.addFinding("E-QUERY-LEN-MAX", "", "", "the query text has %d characters, the upstream takes %d", length, cfg.MaxLength)
	}
	count := len(out.Params)
	if out.Query != "" {
		count++
	}
	if cfg.MaxParams > 0 && count > cfg.MaxParams {
		w.byMode(w.mode, "PARAM-COUNT-LIMIT", "", "", "%d parameters, the upstream takes %d", count, cfg.MaxParams)
	}
}
