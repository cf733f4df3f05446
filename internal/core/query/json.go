package query

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON is the tree as it is stored and exchanged. Parse reads it back.
func (e Expr) JSON() ([]byte, error) {
	if err := e.Valid(); err != nil {
		return nil, fmt.Errorf("write expression: %w", err)
	}
	return e.encode()
}

func (e Expr) encode() ([]byte, error) {
	var out bytes.Buffer
	w := jsonWriter{enc: jsontext.NewEncoder(&out)}
	w.expr(e)
	if w.err != nil {
		return nil, fmt.Errorf("write expression: %w", w.err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// jsonWriter keeps the members in the order in which people read them.
type jsonWriter struct {
	enc *jsontext.Encoder
	err error
}

func (w *jsonWriter) token(t jsontext.Token) {
	if w.err == nil {
		w.err = w.enc.WriteToken(t)
	}
}

func (w *jsonWriter) name(name string) { w.token(jsontext.String(name)) }

func (w *jsonWriter) member(name, text string) {
	w.name(name)
	w.token(jsontext.String(text))
}

func (w *jsonWriter) flag(name string, truth bool) {
	w.name(name)
	w.token(jsontext.Bool(truth))
}

func (w *jsonWriter) expr(e Expr) {
	w.token(jsontext.BeginObject)
	w.member("type", string(e.Kind))
	switch e.Kind {
	case KindAnd, KindOr:
		w.name("children")
		w.token(jsontext.BeginArray)
		for _, child := range e.Children {
			w.expr(child)
		}
		w.token(jsontext.EndArray)
	case KindNot:
		w.name("child")
		w.expr(e.Children[0])
	case KindConst:
		w.flag("value", e.Truth)
	case KindAtom:
		w.member("field", e.Atom.Field)
		w.member("op", string(e.Atom.Op))
		w.name("value")
		w.value(*e.Atom)
	}
	w.token(jsontext.EndObject)
}

func (w *jsonWriter) value(a Atom) {
	w.token(jsontext.BeginObject)
	w.member("kind", string(a.Op))
	switch a.Op {
	case OpTerm:
		w.member("text", a.Term.Text)
		w.member("match", string(a.Term.Match))
		w.member("case", string(a.Term.Case))
	case OpIn:
		w.name("values")
		w.token(jsontext.BeginArray)
		for _, v := range a.In.Values {
			w.token(jsontext.String(v))
		}
		w.token(jsontext.EndArray)
		w.member("case", string(a.In.Case))
	case OpRange:
		w.interval(a.Range)
	case OpExists:
		w.flag("shouldExist", a.Exists)
	case OpToken:
		w.member("tokenType", a.Token.Type)
		w.member("tokenValue", a.Token.Value)
	}
	w.token(jsontext.EndObject)
}

func (w *jsonWriter) interval(r Interval) {
	w.member("rangeType", string(r.Type))
	if r.From != "" {
		w.member("from", r.From)
	}
	if r.To != "" {
		w.member("to", r.To)
	}
	w.member("fromBoundary", string(r.FromBoundary))
	w.member("toBoundary", string(r.ToBoundary))
}
