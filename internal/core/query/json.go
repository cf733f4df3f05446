package query

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON returns the tree as it is stored and exchanged. Parse reads it back.
func (e Expr) JSON() ([]byte, error) {
	if err := e.Valid(); err != nil {
		return nil, fmt.Errorf("write expression: %w", err)
	}
	return e.encodeJSON()
}

func (e Expr) encodeJSON() ([]byte, error) {
	var out bytes.Buffer
	w := jsonWriter{enc: jsontext.NewEncoder(&out)}
	w.writeExpr(e)
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

func (w *jsonWriter) writeToken(t jsontext.Token) {
	if w.err == nil {
		w.err = w.enc.WriteToken(t)
	}
}

func (w *jsonWriter) writeName(name string) { w.writeToken(jsontext.String(name)) }

func (w *jsonWriter) writeMember(name, text string) {
	w.writeName(name)
	w.writeToken(jsontext.String(text))
}

func (w *jsonWriter) writeFlag(name string, truth bool) {
	w.writeName(name)
	w.writeToken(jsontext.Bool(truth))
}

func (w *jsonWriter) writeExpr(e Expr) {
	w.writeToken(jsontext.BeginObject)
	w.writeMember("type", string(e.Kind))
	switch e.Kind {
	case KindAnd, KindOr:
		w.writeName("children")
		w.writeToken(jsontext.BeginArray)
		for _, child := range e.Children {
			w.writeExpr(child)
		}
		w.writeToken(jsontext.EndArray)
	case KindNot:
		w.writeName("child")
		w.writeExpr(e.Children[0])
	case KindConst:
		w.writeFlag("value", e.Truth)
	case KindAtom:
		w.writeMember("field", e.Atom.Field)
		w.writeMember("op", string(e.Atom.Op))
		w.writeName("value")
		w.writeValue(*e.Atom)
	}
	w.writeToken(jsontext.EndObject)
}

func (w *jsonWriter) writeValue(a Atom) {
	w.writeToken(jsontext.BeginObject)
	w.writeMember("kind", string(a.Op))
	switch a.Op {
	case OpTerm:
		w.writeMember("text", a.Term.Text)
		w.writeMember("match", string(a.Term.Match))
		w.writeMember("case", string(a.Term.Case))
	case OpIn:
		w.writeName("values")
		w.writeToken(jsontext.BeginArray)
		for _, v := range a.In.Values {
			w.writeToken(jsontext.String(v))
		}
		w.writeToken(jsontext.EndArray)
		w.writeMember("case", string(a.In.Case))
	case OpRange:
		w.writeInterval(a.Range)
	case OpExists:
		w.writeFlag("shouldExist", a.Exists)
	case OpToken:
		w.writeMember("tokenType", a.Token.Type)
		w.writeMember("tokenValue", a.Token.Value)
	}
	w.writeToken(jsontext.EndObject)
}

func (w *jsonWriter) writeInterval(r Interval) {
	w.writeMember("rangeType", string(r.Type))
	if r.From != "" {
		w.writeMember("from", r.From)
	}
	if r.To != "" {
		w.writeMember("to", r.To)
	}
	w.writeMember("fromBoundary", string(r.FromBoundary))
	w.writeMember("toBoundary", string(r.ToBoundary))
}
