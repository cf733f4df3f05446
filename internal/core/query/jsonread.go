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
	e, err := r.readExpr(text, "", 1)
	if err == nil {
		err = e.Valid()
	}
	if err != nil {
		return Expr{}, fmt.Errorf("read expression: %w", err)
	}
	return e, nil
}

type jsonReader struct{ nodes int }

func (r *jsonReader) readExpr(raw jsontext.Value, path string, depth int) (Expr, error) {
	r.nodes++
	if err := withinLimits(path, depth, r.nodes); err != nil {
		return Expr{}, err
	}
	o, err := readObject(raw, path)
	if err != nil {
		return Expr{}, err
	}
	kind := Kind(o.readText("type"))
	e := Expr{Kind: kind}
	switch kind {
	case KindAnd, KindOr:
		o.refuseOthers("type", "children")
		for i, child := range o.readList("children") {
			node, err := r.readExpr(child, elementPath(path, i), depth+1)
			if err != nil {
				return Expr{}, err
			}
			e.Children = append(e.Children, node)
		}
	case KindNot:
		o.refuseOthers("type", "child")
		raw := o.takeMember("child", true)
		if o.err != nil {
			return Expr{}, o.err
		}
		child, err := r.readExpr(raw, joinPath(path, "child"), depth+1)
		if err != nil {
			return Expr{}, err
		}
		e.Children = []Expr{child}
	case KindConst:
		o.refuseOthers("type", "value")
		e.Truth = o.readFlag("value")
	case KindAtom:
		o.refuseOthers("type", "field", "op", "value")
		e.Atom = readAtom(o)
	default:
		o.noteProblem(joinPath(path, "type"), "%q is unknown: use AND, OR, NOT, CONST or ATOM", shortenText(string(kind)))
	}
	return e, o.err
}

func readAtom(o *object) *Atom {
	a := &Atom{Field: o.readText("field"), Op: Op(o.readText("op"))}
	raw := o.takeMember("value", true)
	if o.err != nil {
		return nil
	}
	v, err := readObject(raw, joinPath(o.path, "value"))
	if err != nil {
		o.err = err
		return nil
	}
	if kind := Op(v.readText("kind")); v.err == nil && kind != a.Op {
		v.noteProblem(joinPath(v.path, "kind"), "%q does not fit op %s", shortenText(string(kind)), shortenText(string(a.Op)))
	}
	switch a.Op {
	case OpTerm:
		v.refuseOthers("kind", "text", "match", "case")
		a.Term = Term{v.readText("text"), Match(v.readText("match")), Case(v.readText("case"))}
	case OpIn:
		v.refuseOthers("kind", "values", "case")
		a.In = List{v.readTexts("values"), Case(v.readText("case"))}
	case OpRange:
		v.refuseOthers("kind", "rangeType", "from", "to", "fromBoundary", "toBoundary")
		a.Range = Interval{RangeType(v.readText("rangeType")), v.textIfGiven("from"), v.textIfGiven("to"), Boundary(v.readText("fromBoundary")), Boundary(v.readText("toBoundary"))}
	case OpExists:
		v.refuseOthers("kind", "shouldExist")
		a.Exists = v.readFlag("shouldExist")
	case OpToken:
		v.refuseOthers("kind", "tokenType", "tokenValue")
		a.Token = Token{v.readText("tokenType"), v.readText("tokenValue")}
	default:
		v.err = checkKnown(joinPath(o.path, "op"), a.Op, OpTerm, OpIn, OpRange, OpExists, OpToken)
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
			return nil, errorAt(path, "not valid JSON: %s", shortenText(fmt.Sprint(err)))
		}
		return nil, errorAt(path, "expected an object, found %s", kindName(raw))
	}
	return o, nil
}

func (o *object) noteProblem(path, format string, args ...any) {
	if o.err == nil {
		o.err = errorAt(path, format, args...)
	}
}

func (o *object) refuseOthers(names ...string) {
	unknown := []string{}
	for name := range o.members {
		if !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		o.noteProblem(joinPath(o.path, shortenText(unknown[0])), "unknown member: this node has %s", strings.Join(names, ", "))
	}
}

func (o *object) takeMember(name string, required bool) jsontext.Value {
	raw, ok := o.members[name]
	if !ok && required {
		o.noteProblem(joinPath(o.path, name), "is missing")
	}
	return raw
}

func (o *object) readText(name string) string {
	raw := o.takeMember(name, true)
	if raw == nil {
		return ""
	}
	return o.textOf(joinPath(o.path, name), raw)
}

func (o *object) textIfGiven(name string) string {
	if o.takeMember(name, false) == nil {
		return ""
	}
	text := o.readText(name)
	if text == "" {
		o.noteProblem(joinPath(o.path, name), "is empty: leave it out for a range without this end")
	}
	return text
}

func (o *object) textOf(path string, raw jsontext.Value) string {
	var text string
	if raw.Kind() != '"' || json.Unmarshal(raw, &text) != nil {
		o.noteProblem(path, "expected text, found %s", kindName(raw))
	}
	return text
}

func (o *object) readFlag(name string) bool {
	raw := o.takeMember(name, true)
	if raw != nil && raw.Kind() != 't' && raw.Kind() != 'f' {
		o.noteProblem(joinPath(o.path, name), "expected true or false, found %s", kindName(raw))
	}
	return raw.Kind() == 't'
}

// readList gives the elements of an array. A missing array is empty.
func (o *object) readList(name string) []jsontext.Value {
	raw := o.takeMember(name, false)
	if raw == nil {
		return nil
	}
	var out []jsontext.Value
	if raw.Kind() != '[' || json.Unmarshal(raw, &out) != nil {
		o.noteProblem(joinPath(o.path, name), "expected an array, found %s", kindName(raw))
	}
	return out
}

func (o *object) readTexts(name string) []string {
	var out []string
	for i, raw := range o.readList(name) {
		out = append(out, o.textOf(fmt.Sprintf("%s[%d]", joinPath(o.path, name), i), raw))
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
