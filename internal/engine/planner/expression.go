package planner

import (
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// expressions writes the canonical expression of each slice. Slices of a plan
// differ in two instants only, so the text round them is made once: a plan may
// have a hundred thousand.
type expressions struct {
	snapshot        spec.Snapshot
	selection       string
	head, mid, tail string // empty head: every expression is made by itself
}

// sample has instants that stand nowhere else in an expression.
var sample = window.Window{From: time.Date(1111, 11, 11, 11, 11, 11, 111111000, time.UTC), To: time.Date(1222, 12, 22, 22, 22, 22, 222222000, time.UTC)}

// written is how an expression names an instant.
const written = "2006-01-02T15:04:05.000000Z"

// newExpressions prepares the text that the expressions of all slices share.
func newExpressions(s spec.Snapshot, selection string) (*expressions, error) {
	e := &expressions{snapshot: s, selection: selection}
	whole, err := e.writeAlone(sample)
	if err != nil || mentionsField(s.Query.Where, s.Filter.Field) {
		return e, err // another range on the same field: their order depends on the instants
	}
	head, rest, one := strings.Cut(string(whole), sample.From.Format(written))
	mid, tail, two := strings.Cut(rest, sample.To.Format(written))
	if one && two && !strings.Contains(tail, sample.From.Format(written)) {
		e.head, e.mid, e.tail = head, mid, tail
	}
	return e, nil
}

// expressionOf returns the expression of a window. Slices of ids have no window: theirs
// is what the plan asks for.
func (e *expressions) expressionOf(w window.Window) ([]byte, error) {
	if w == (window.Window{}) {
		return query.Prototype{Where: e.snapshot.Query.Where, Selection: e.selection}.Canonical()
	}
	if e.head == "" || w.Empty() {
		return e.writeAlone(w)
	}
	return []byte(e.head + w.From.Format(written) + e.mid + w.To.Format(written) + e.tail), nil
}

// writeAlone writes the expression of a window without the shared text.
func (e *expressions) writeAlone(w window.Window) ([]byte, error) {
	return query.Prototype{Where: e.snapshot.Expression(w), Selection: e.selection}.Canonical()
}

// mentionsField reports whether a condition is about a field.
func mentionsField(x query.Expr, field string) bool {
	if x.Atom != nil && x.Atom.Field == field {
		return true
	}
	for _, child := range x.Children {
		if mentionsField(child, field) {
			return true
		}
	}
	return false
}
