package query

import "github.com/patra-ingest/patra/internal/core/fingerprint"

// All selects everything.
func All() Expr { return Expr{Kind: KindConst, Truth: true} }

// Or selects what any child selects.
func Or(children ...Expr) Expr { return Expr{Kind: KindOr, Children: children} }

// Phrase selects by words in this order.
func Phrase(field, text string) Expr {
	return Is(Atom{Field: field, Op: OpTerm, Term: Term{Text: text, Match: MatchPhrase, Case: Insensitive}})
}

// OneOf selects by a list of values.
func OneOf(field string, values ...string) Expr {
	return Is(Atom{Field: field, Op: OpIn, In: List{Values: values, Case: Insensitive}})
}

// Hash is the fingerprint of the canonical form. And(x) and x have one hash.
func Hash(e Expr) (string, error) {
	canonical, err := Canonical(e)
	if err != nil {
		return "", err
	}
	return fingerprint.Bytes(canonical), nil
}

// Preview renders as much as can be rendered. What was left out is among the findings.
func (p *Program) Preview(e Expr) (Rendered, []Finding) { return p.renderExpr(e, Lenient) }
