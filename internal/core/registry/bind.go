package registry

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/spelling"
)

// maxProblems keeps the report of a file that is no source file readable.
const maxProblems = 100

// binder holds nodes against shapes. It collects the values it could read and
// every problem on the way.
type binder struct {
	leaves   leafSet
	places   Origins
	problems Problems
}

func newBinder() *binder { return &binder{leaves: leafSet{}, places: Origins{}} }

func (b *binder) reportProblem(at Position, path, message, hint string) {
	switch {
	case len(b.problems) < maxProblems:
		b.problems = append(b.problems, problemAt(at, path, message, hint))
	case len(b.problems) == maxProblems:
		b.problems = append(b.problems, problemAt(at, "", "there are more problems; the rest is not shown", ""))
	}
}

func (b *binder) bindNode(n *node, s *shape, path Path) {
	switch s.kind {
	case object, mapping:
		b.bindKeys(n, s, path)
	case list:
		b.bindList(n, s, path)
	default:
		value := reflect.New(s.typ).Elem()
		if b.bindScalar(n, s, value, path.String()) {
			b.leaves.addLeaf(Leaf{Path: path, Value: value.Interface(), At: n.at})
			b.places[path.String()] = n.at
		}
	}
}

func (b *binder) bindKeys(n *node, s *shape, path Path) {
	if n.what != keys {
		b.wrongType(n, s, path.String())
		return
	}
	first := map[string]Position{}
	for _, e := range n.entries {
		below := path.withKey(e.key)
		if seen, twice := first[e.key]; twice {
			b.reportProblem(e.at, below.String(), "E-DUPLICATE-KEY: key is given twice", fmt.Sprintf("first at line %d, column %d", seen.Line, seen.Col))
			continue
		}
		first[e.key] = e.at
		child, ok := s.childShape(e.key)
		if !ok {
			b.reportProblem(e.at, below.String(), "E-UNKNOWN-KEY: unknown key", unknownKeyHint(e.key, s))
			continue
		}
		if child.kind != scalar {
			b.places[below.String()] = e.at
		}
		b.bindNode(e.value, child, below)
	}
	b.checkMissing(n, s, path, first)
}

// checkMissing checks the keys no other level can supply. What a section needs is
// checked on the merged result (Resolved.Validate).
func (b *binder) checkMissing(n *node, s *shape, path Path, given map[string]Position) {
	if s.typ != reflect.TypeFor[Source]() && s.typ != reflect.TypeFor[Endpoint]() {
		return
	}
	for _, f := range s.fields {
		if _, ok := given[f.name]; f.required && !ok {
			b.reportProblem(n.at, path.withKey(f.name).String(), "E-REQUIRED: required key is missing", f.doc)
		}
	}
}

// unknownKeyHint also knows keys that stand one level too high.
func unknownKeyHint(key string, s *shape) string {
	valid := s.listKeys()
	if near := spelling.Nearest(key, valid); near == "" {
		for _, f := range s.fields {
			if _, ok := f.shape.fieldNamed(key); ok {
				return "it belongs under " + strconv.Quote(f.name)
			}
		}
	}
	return hintFor(key, valid, "valid keys")
}

func (b *binder) bindList(n *node, s *shape, path Path) {
	if s.bare && (n.what == words || n.what == number || n.what == boolean) {
		one := *n
		n = &node{at: n.at, what: items, items: []*node{&one}}
	}
	if n.what != items {
		b.wrongType(n, s, path.String())
		return
	}
	out := reflect.MakeSlice(s.typ, 0, len(n.items))
	good := true
	for i, item := range n.items {
		value := reflect.New(s.elem.typ).Elem()
		if !b.bindScalar(item, s.elem, value, fmt.Sprintf("%s[%d]", path, i)) {
			good = false
			continue
		}
		out = reflect.Append(out, value)
	}
	if good {
		b.leaves.addLeaf(Leaf{Path: path, Value: out.Interface(), At: n.at})
	}
}

func (b *binder) wrongType(n *node, s *shape, path string) {
	hint := ""
	switch {
	case n.what == nothing:
		hint = "give a value or remove the key"
	case s.kind == list && !s.bare && n.what != keys && !isPrivate(path):
		hint = "write [" + n.text + "]"
	case n.what == keys && strings.HasSuffix(path, "request.body"):
		hint = `write the JSON as text: body: '{"limit": ${page.size}}'`
	case n.what == keys && strings.HasSuffix(path, "response.id"):
		hint = "write a path such as $.id, or a template: ${hash()} where items have no id, ${key} for the members of an object, ${partition.NAME} where a partition has one item"
	}
	b.reportProblem(n.at, path, "E-TYPE: expected "+s.describeExpected()+", found "+foundAt(n, path), hint)
}

// foundAt says what was found, without its text where that may be a secret.
func foundAt(n *node, path string) string {
	if n.what != nothing && n.what != keys && n.what != items && isPrivate(path) {
		return "a value"
	}
	return n.describeFound()
}
