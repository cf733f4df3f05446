package planner

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/patra-ingest/patra/internal/core/slicing"
)

// specTexts writes the stored specifications of slices. Those of a plan mostly
// differ in two instants only, so the text round them is made once.
type specTexts struct {
	like            *slicing.Spec // the first one; nil: none yet
	head, mid, tail []byte        // no head: every text is made by itself
}

// textOf returns the JSON of a specification.
func (t *specTexts) textOf(s slicing.Spec) ([]byte, error) {
	if t.like == nil {
		if err := t.learnText(s); err != nil {
			return nil, err
		}
	}
	if t.head == nil || !differInWindowOnly(*t.like, s) {
		return json.Marshal(s)
	}
	out := make([]byte, 0, len(t.head)+len(t.mid)+len(t.tail)+64)
	out, err := s.Window.From.AppendText(append(out, t.head...))
	if err != nil {
		return nil, err
	}
	if out, err = s.Window.To.AppendText(append(out, t.mid...)); err != nil {
		return nil, err
	}
	return append(out, t.tail...), nil
}

// learnText keeps the text round the instants, unless it has other bounds too.
func (t *specTexts) learnText(s slicing.Spec) error {
	t.like = &s
	if s.Range != nil || s.File != nil || s.Window.Asked != nil {
		return nil
	}
	of := s
	of.Window.From, of.Window.To = sample.From, sample.To
	whole, err := json.Marshal(of)
	if err != nil {
		return err
	}
	from, err := sample.From.MarshalText()
	if err != nil {
		return err
	}
	to, err := sample.To.MarshalText()
	if err != nil {
		return err
	}
	head, rest, one := bytes.Cut(whole, from)
	mid, tail, two := bytes.Cut(rest, to)
	if one && two {
		t.head, t.mid, t.tail = head, mid, tail
	}
	return nil
}

// differInWindowOnly reports whether two specifications have the same text but for the
// bounds of their windows.
func differInWindowOnly(a, b slicing.Spec) bool {
	a.Window.From, a.Window.To = b.Window.From, b.Window.To
	budgetA, budgetB, telemetryA, telemetryB := a.Budget, b.Budget, a.Telemetry, b.Telemetry
	budgetA.Reservation, telemetryA.Estimate = budgetB.Reservation, telemetryB.Estimate // compared by what they say
	return a.Strategy == b.Strategy && a.Window == b.Window && maps.Equal(a.Sector, b.Sector) && a.Few == b.Few && a.Opens == b.Opens && a.Picks == b.Picks && a.Range == b.Range && a.Refresh == b.Refresh && a.File == b.File && a.Pagination.Type == b.Pagination.Type &&
		maps.Equal(a.Pagination.Initial, b.Pagination.Initial) && (a.Pagination.Initial == nil) == (b.Pagination.Initial == nil) &&
		budgetA == budgetB && sameValue(a.Budget.Reservation, b.Budget.Reservation) && a.Hints == b.Hints && a.Phase == b.Phase &&
		telemetryA == telemetryB && sameValue(a.Telemetry.Estimate, b.Telemetry.Estimate)
}

// sameValue reports whether two pointers are both nil or point to equal values.
func sameValue[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
