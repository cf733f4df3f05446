package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

// Canonical returns the canonical JSON of what an expression selects: the
// normal form, with the children of AND and OR and the values of IN in one
// order. ParseJSON reads it back.
func Canonical(e Expr) ([]byte, error) {
	if !e.IsZero() {
		if err := e.Valid(); err != nil {
			return nil, fmt.Errorf("canonical expression: %w", err)
		}
	}
	return canonicalJSON(sortTree(Normalise(e)))
}

// Prototype is what a plan asks for apart from the window: the conditions, and
// a fingerprint of whatever else in the request selects items.
type Prototype struct {
	Where     Expr
	Selection string
}

// Canonical returns the canonical JSON of a prototype.
func (p Prototype) Canonical() ([]byte, error) {
	where, err := Canonical(p.Where)
	if err != nil {
		return nil, err
	}
	return fingerprint.Canonical(struct {
		Selection string         `json:"selection"`
		Where     jsontext.Value `json:"where"`
	}{p.Selection, where})
}

// Hash returns the identity of a prototype.
func (p Prototype) Hash() (string, error) {
	canonical, err := p.Canonical()
	if err != nil {
		return "", err
	}
	return fingerprint.Bytes(canonical), nil
}

func canonicalJSON(e Expr) ([]byte, error) {
	raw, err := e.encodeJSON()
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(raw)
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonical expression: %w", err)
	}
	return value, nil
}

// sortTree puts a normal tree into the one order.
func sortTree(e Expr) Expr {
	switch e.Kind {
	case KindAtom:
		if e.Atom.Op == OpIn {
			a := *e.Atom
			a.In.Values = slices.Sorted(slices.Values(a.In.Values))
			return Is(a)
		}
	case KindNot:
		return Not(sortTree(e.Children[0]))
	case KindAnd, KindOr:
		return Expr{Kind: e.Kind, Children: sortedChildren(e.Children)}
	}
	return e
}

func sortedChildren(children []Expr) []Expr {
	type keyed struct {
		key  string
		expr Expr
	}
	list := make([]keyed, len(children))
	for i, child := range children {
		child = sortTree(child)
		key, _ := canonicalJSON(child) // Canonical has refused what cannot be encoded
		list[i] = keyed{string(key), child}
	}
	slices.SortFunc(list, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	out := make([]Expr, len(list))
	for i, k := range list {
		out[i] = k.expr
	}
	return out
}
