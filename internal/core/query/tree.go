// Package query is the query expression of a source: a tree of conditions with
// a JSON and a text form, its normal and canonical form and hash, the check
// against what an upstream can express, and its rendering by rules into query
// text and standard parameters. It also translates half-open UTC windows into
// what an upstream's date filter can say (D§5.11).
//
// It never sends or encodes a request, and it never drops a condition in
// silence: what cannot be said to the upstream exactly is selected too widely or
// refused, never too narrowly.
package query

import (
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Kind says what a node of the tree is.
type Kind string

// Kinds of nodes.
const (
	KindAnd   Kind = "AND"
	KindOr    Kind = "OR"
	KindNot   Kind = "NOT"
	KindConst Kind = "CONST"
	KindAtom  Kind = "ATOM"
)

// Expr is a node of the query tree. The zero Expr is "not set" and selects
// everything. As text, in a source file or a snapshot, it is one scalar.
type Expr struct {
	Kind     Kind
	Children []Expr // AND and OR: any number; NOT: one
	Truth    bool   // CONST
	Atom     *Atom  // ATOM
}

// IsZero reports whether no expression was given.
func (e Expr) IsZero() bool { return e.Kind == "" }

// None selects nothing.
func None() Expr { return Expr{Kind: KindConst} }

// And selects what all children select.
func And(children ...Expr) Expr { return Expr{Kind: KindAnd, Children: children} }

// Not selects what the child does not select.
func Not(child Expr) Expr { return Expr{Kind: KindNot, Children: []Expr{child}} }

// Is selects by one condition.
func Is(a Atom) Expr { return Expr{Kind: KindAtom, Atom: &a} }

// Range selects the instants of a half-open window.
func Range(field string, w window.Window) Expr {
	return Is(Atom{Field: field, Op: OpRange, Range: Interval{
		Type: RangeDateTime, From: instantText(w.From), To: instantText(w.To),
		FromBoundary: Closed, ToBoundary: Open,
	}})
}

// Localise writes a slice's window into the plan's prototype (S§14).
func Localise(proto Expr, field string, w window.Window) Expr {
	if proto.IsZero() {
		return Range(field, w)
	}
	return And(proto, Range(field, w))
}

// Equal compares two trees node by node, order included.
func (e Expr) Equal(o Expr) bool {
	if e.Kind != o.Kind || e.Truth != o.Truth || (e.Atom == nil) != (o.Atom == nil) {
		return false
	}
	if e.Atom != nil && !e.Atom.equalAtom(*o.Atom) {
		return false
	}
	return slices.EqualFunc(e.Children, o.Children, Expr.Equal)
}

// instantText returns the one spelling of an instant: UTC and always six digits.
func instantText(t time.Time) string { return window.Instant(t).Format("2006-01-02T15:04:05.000000Z") }

// squeezeBlanks trims text and writes every run of blanks as one space.
func squeezeBlanks(text string) string { return strings.Join(strings.Fields(text), " ") }
