package query

import (
	"slices"
	"strings"
	"unicode"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

// Normalise gives the plain form of a tree that selects the same: lists
// flattened and without repetition, constants and double negation resolved,
// values trimmed and in one spelling. De Morgan's laws are not applied: what a
// person wrote stays recognisable.
func Normalise(e Expr) Expr { return normaliseExpr(e).expr }

// normalNode is a normal tree with the identity of what it selects, made from
// the identities of its parts: comparing whole trees at every level would cost
// more than a tree is worth.
type normalNode struct {
	expr  Expr
	id    string
	parts []normalNode // of AND, OR and NOT
}

func normaliseExpr(e Expr) normalNode {
	switch e.Kind {
	case KindAnd, KindOr:
		return normalBranch(e)
	case KindNot:
		return normalNot(normaliseExpr(e.Children[0]))
	case KindAtom:
		return normaliseLeaf(normalAtom(*e.Atom))
	case KindConst:
		return constantNode(e.Truth)
	}
	return constantNode(true)
}

// normaliseLeaf takes the text form for the identity: no two conditions share one.
func normaliseLeaf(e Expr) normalNode { return normalNode{expr: e, id: sortTree(e).String()} }

func constantNode(truth bool) normalNode { return normaliseLeaf(Expr{Kind: KindConst, Truth: truth}) }

// normalBranch treats AND and OR alike: the constant that decides a list is
// FALSE for AND and TRUE for OR; the other one says nothing.
func normalBranch(e Expr) normalNode {
	decides := e.Kind == KindOr
	var parts []normalNode
	for _, child := range e.Children {
		node := normaliseExpr(child)
		switch {
		case node.expr.Kind == e.Kind:
			parts = append(parts, node.parts...)
		case node.expr.Kind != KindConst:
			parts = append(parts, node)
		case node.expr.Truth == decides:
			return node
		}
	}
	parts = dropRepeated(parts)
	switch len(parts) {
	case 0:
		return constantNode(!decides)
	case 1:
		return parts[0]
	}
	out := normalNode{expr: Expr{Kind: e.Kind}, parts: parts}
	ids := make([]string, len(parts))
	for i, part := range parts {
		out.expr.Children = append(out.expr.Children, part.expr)
		ids[i] = part.id
	}
	slices.Sort(ids)
	out.id = fingerprint.Key(append(ids, string(e.Kind))...)
	return out
}

// dropRepeated keeps the first of parts that mean the same.
func dropRepeated(parts []normalNode) []normalNode {
	seen := map[string]bool{}
	return slices.DeleteFunc(parts, func(n normalNode) bool {
		known := seen[n.id]
		seen[n.id] = true
		return known
	})
}

func normalNot(child normalNode) normalNode {
	switch child.expr.Kind {
	case KindConst:
		return constantNode(!child.expr.Truth)
	case KindNot:
		return child.parts[0]
	}
	return normalNode{Not(child.expr), fingerprint.Key(string(KindNot), child.id), []normalNode{child}}
}

func normalAtom(a Atom) Expr {
	out := Atom{Field: a.Field, Op: a.Op}
	switch a.Op {
	case OpTerm:
		out.Term = normalTerm(a.Term)
	case OpIn:
		return normalList(a)
	case OpRange:
		out.Range = normalInterval(a.Range)
	case OpExists:
		out.Exists = a.Exists
	case OpToken:
		out.Token = Token{strings.ToLower(strings.TrimSpace(a.Token.Type)), strings.TrimSpace(a.Token.Value)}
	}
	return Is(out)
}

// normalTerm leaves the blanks inside an EXACT text alone: it is not made of words.
func normalTerm(t Term) Term {
	if t.Match == MatchExact {
		t.Text = strings.TrimSpace(t.Text)
	} else {
		t.Text = squeezeBlanks(t.Text)
	}
	return t
}

func normalList(a Atom) Expr {
	values := listValues(a.In)
	switch len(values) {
	case 0:
		return None()
	case 1:
		return Is(Atom{Field: a.Field, Op: OpTerm, Term: Term{Text: values[0], Match: MatchPhrase, Case: a.In.Case}})
	}
	return Is(Atom{Field: a.Field, Op: OpIn, In: List{Values: values, Case: a.In.Case}})
}

// listValues returns the values without blanks and repetition. Of spellings that
// differ only in a case that does not matter the smallest stands for all, so
// that the order in which they were written does not show.
func listValues(l List) []string {
	var out []string
	place := map[string]int{}
	for _, v := range l.Values {
		v = squeezeBlanks(v)
		if v == "" {
			continue
		}
		key := v
		if l.Case != Sensitive {
			key = foldCase(v)
		}
		if i, seen := place[key]; seen {
			out[i] = min(out[i], v)
			continue
		}
		place[key] = len(out)
		out = append(out, v)
	}
	return out
}

// foldCase maps texts that differ only in case to one text.
func foldCase(text string) string {
	return strings.Map(func(r rune) rune {
		smallest := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			smallest = min(smallest, next)
		}
		return smallest
	}, text)
}

// normalInterval returns the normal form of a range. Infinity is never part of a
// range, so an end without a bound is open whatever was written.
func normalInterval(r Interval) Interval {
	if r.From == "" {
		r.FromBoundary = Open
	}
	if r.To == "" {
		r.ToBoundary = Open
	}
	r.From, r.To = r.Type.normalSpelling(r.From), r.Type.normalSpelling(r.To)
	return r
}

func (t RangeType) normalSpelling(text string) string {
	switch t {
	case RangeDateTime:
		if at, ok := parseInstant(text); ok {
			return instantText(at)
		}
	case RangeNumber:
		return plainDecimal(text)
	}
	return text
}

// plainDecimal writes a decimal without needless zeros.
func plainDecimal(text string) string {
	if text == "" {
		return ""
	}
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if negative && whole != "0" {
		return "-" + whole
	}
	return whole
}
