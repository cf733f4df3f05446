// Package query is the query expression: a small tree, its canonical JSON and
// hash, the slice window written into it, and the translation of half-open
// UTC windows into what an upstream's date filter can express (D§5.11).
//
// It never renders a request; templates do that with the bounds given here.
package query

import (
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Expr is a node of the query tree. Exactly one shape is used per Type.
type Expr struct {
	Type     string `json:"type"` // AND, CONST, ATOM
	Children []Expr `json:"children,omitempty"`
	Value    any    `json:"value,omitempty"` // CONST: bool; ATOM: RangeValue
	Field    string `json:"field,omitempty"`
	Op       string `json:"op,omitempty"`
}

// RangeValue is the value of a RANGE atom.
type RangeValue struct {
	Kind         string `json:"kind"`
	RangeType    string `json:"rangeType"`
	From         string `json:"from"`
	To           string `json:"to"`
	FromBoundary string `json:"fromBoundary"`
	ToBoundary   string `json:"toBoundary"`
}

// All selects everything.
func All() Expr { return Expr{Type: "CONST", Value: true} }

// And joins expressions. Order does not matter to Canonical and Hash.
func And(children ...Expr) Expr { return Expr{Type: "AND", Children: children} }

// Range selects the instants of a half-open window.
func Range(field string, w window.Window) Expr {
	return Expr{Type: "ATOM", Field: field, Op: "RANGE", Value: RangeValue{
		Kind: "RANGE", RangeType: "DATETIME",
		From: w.From.Format(time.RFC3339Nano), To: w.To.Format(time.RFC3339Nano),
		FromBoundary: "CLOSED", ToBoundary: "OPEN",
	}}
}

// Localise writes a slice's window into the plan's prototype (S§14).
func Localise(proto Expr, field string, w window.Window) Expr {
	return And(proto, Range(field, w))
}

// Canonical is the order-free canonical JSON of an expression.
func Canonical(e Expr) ([]byte, error) { return fingerprint.Canonical(sorted(e)) }

// Hash is the fingerprint of the canonical form.
func Hash(e Expr) (string, error) {
	canonical, err := Canonical(e)
	if err != nil {
		return "", err
	}
	return fingerprint.Bytes(canonical), nil
}

func sorted(e Expr) Expr {
	if len(e.Children) == 0 {
		return e
	}
	type keyed struct {
		key  string
		expr Expr
	}
	children := make([]keyed, len(e.Children))
	for i, child := range e.Children {
		child = sorted(child)
		key, _ := fingerprint.Canonical(child) // an Expr always encodes
		children[i] = keyed{string(key), child}
	}
	slices.SortFunc(children, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	e.Children = make([]Expr, len(children))
	for i, child := range children {
		e.Children[i] = child.expr
	}
	return e
}
