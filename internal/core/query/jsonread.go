package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ParseJSON reads the JSON form. It is strict: a member it does not know might
// be a condition it would otherwise drop.
func ParseJSON(text []byte) (Expr, error) {
	if len(text) > maxSource {
		return Expr{}, fmt.Errorf("read expression: %d bytes are more than the limit of %d", len(text), maxSource)
	}
	var r jsonReader
	e, err := r.expr(text, "", 1)
	if err == nil {
		err = e.Valid()
	}
	if err != nil {
		return Expr{}, fmt.Errorf("read expression: %w", err)
	}
	return e, nil
}

type jsonReader struct{ nodes int }

func (r *jsonReader) expr(raw jsontext.Value, path string, depth int) (Expr, error) {
	r.nodes++
	if err := withinLimits(path, depth, r.nodes); err != nil {
		return Expr{}, err
	}
	o, err := readObject(raw, path)
	if err != nil {
		return Expr{}, err
	}
	kind := Kind(o.text("type"))
	e := Expr{Kind: kind}
	switch kind {
	case KindAnd, KindOr:
		o.only("type", "children")
		for i, child := range o.list("children") {
			node, err := r.expr(child, element(path, i), depth+1)
			if err != nil {
				return Expr{}, err
			}
			e.Children = append(e.Children, node)
		}
	case KindNot:
		o.only("type", "child")
		raw := o.take("child", true)
		if o.err != nil {
			return Expr{}, o.err
		}
		child, err := r.expr(raw, join(path, "child"), depth+1)
		if err != nil {
			return Expr{}, err
		}
		e.Children = []Expr{child}
	case KindConst:
		o.only("type", "value")
		e.Truth = o.flag("value")
	case KindAtom:
		o.only("type", "field", "op", "value")
		e.Atom = readAtom(o)
	default:
		o.fail(join(path, "type"), "%q is unknown: use AND, OR, NOT, CONST or ATOM", shorten(string(kind)))
	}
	return e, o.err
}

func readAtom(o *object) *Atom {
	a := &Atom{Field: o.text("field"), Op: Op(o.text("op"))}
	raw := o.take("value", true)
	if o.err != nil {
		return nil
	}
	v, err := readObject(raw, join(o.path, "value"))
	if err != nil {
		o.err = err
		return nil
	}
	if kind := Op(v.text("kind")); v.err == nil && kind != a.Op {
		v.fail(join(v.path, "kind"), "%q does not fit op %s", shorten(string(kind)), shorten(string(a.Op)))
	}
	switch a.Op {
	case OpTerm:
		v.only("kind", "text", "match", "case")
		a.Term = Term{v.text("text"), Match(v.text("match")), Case(v.text("case"))}
	case OpIn:
		v.only("kind", "values", "case")
		a.In = List{v.texts("values"), Case(v.text("case"))}
	case OpRange:
		v.only("kind", "rangeType", "from", "to", "fromBoundary", "toBoundary")
		a.Range = Interval{RangeType(v.text("rangeType")), v.textIfGiven("from"), v.textIfGiven("to"), Boundary(v.text("fromBoundary")), Boundary(v.text("toBoundary"))}
	case OpExists:
		v.only("kind", "shouldExist")
		a.Exists = v.flag("shouldExist")
	case OpToken:
		v.only("kind", "tokenType", "tokenValue")
		a.Token = Token{v.text("tokenType"), v.text("tokenValue")}
	default:
		v.err = known(join(o.path, "op"), a.Op, OpTerm, OpIn, OpRange, OpExists, OpToken)
	}
	o.err = v.err
	return a
}

// object reads members and keeps the first thing that is wrong.
type object struct {
	path    string
	members map[string]jsontext.Value
	err     error
}

func readObject(raw jsontext.Value, path string) (*object, error) {
	o := &object{path: path}
	if err := json.Unmarshal(raw, &o.members); err != nil || o.members == nil {
		if err != nil && raw.Kind() == '{' || !raw.IsValid() {
			return nil, at(path, "not valid JSON: %s", shorten(fmt.Sprint(err)))
		}
		return nil, at(path, "expected an object, found %s", kindName(raw))
	}
	return o, nil
}

func (o *object) fail(path, format string, args ...any) {
	if o.err == nil {
		o.err = at(path, format, args...)
	}
}

func (o *object) only(names ...string) {
	unknown := []string{}
	for name := range o.members {
		if !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		o.fail(join(o.path, shorten(unknown[0])), "unknown member: this node has %s", strings.Join(names, ", "))
	}
}

func (o *object) take(name string, required bool) jsontext.Value {
	raw, ok := o.members[name]
	if !ok && required {
		o.fail(join(o.path, name), "is missing")
	}
	return raw
}

func (o *object) text(name string) string {
	raw := o.take(name, true)
	if raw == nil {
		return ""
	}
	return o.textOf(join(o.path, name), raw)
}

func (o *object) textIfGiven(name string) string {
	if o.take(name, false) == nil {
		return ""
	}
	text := o.text(name)
	if text == "" {
		o.fail(join(o.path, name), "is empty: leave it out for a range without this end")
	}
	return text
}

func (o *object) textOf(path string, raw jsontext.Value) string {
	var text string
	if raw.Kind() != '"' || json.Unmarshal(raw, &text) != nil {
		o.fail(path, "expected text, found %s", kindName(raw))
	}
	return text
}

func (o *object) flag(name string) bool {
	raw := o.take(name, true)
	if raw != nil && raw.Kind() != 't' && raw.Kind() != 'f' {
		o.fail(join(o.path, name), "expected true or false, found %s", kindName(raw))
	}
	return raw.Kind() == 't'
}

// list gives the elements of an array. A missing array is empty.
func (o *object) list(name string) []jsontext.Value {
	raw := o.take(name, false)
	if raw == nil {
		return nil
	}
	var out []jsontext.Value
	if raw.Kind() != '[' || json.Unmarshal(raw, &out) != nil {
		o.fail(join(o.path, name), "expected an array, found %s", kindName(raw))
	}
	return out
}

func (o *object) texts(name string) []string {
	var out []string
	for i, raw := range o.list(name) {
		out = append(out, o.textOf(fmt.Sprintf("%s[%d]", join(o.path, name), i), raw))
	}
	return out
}

func kindName(raw jsontext.Value) string {
	switch raw.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "text"
	case '0':
		return "a number"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "nothing"
}
