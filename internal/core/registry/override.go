package registry

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// Override is one value set for a single run (--set path=value).
type Override struct {
	Path  Path
	Value any
}

// ParseOverride reads path=value. The path starts at a section, as in
// http.timeout=PT5S; the value is read by the type of the path. A list is
// written as YAML: retry.retryStatus=[429, 503]. Errors name the path and never
// the value: nobody can tell here whether it is a secret.
func ParseOverride(text string) (Override, error) {
	path, value, err := parsePath(text, "=")
	if err != nil {
		return Override{}, Problems{problemAt(Position{File: "override"}, "", pathFault(err), "write section.key=value")}
	}
	at := overridePosition(path)
	if value == "" {
		return Override{}, Problems{problemAt(at, "", "there is no =", "write "+path.String()+"=value")}
	}
	s := sectionsShape()
	for i, key := range path {
		child, ok := s.childShape(key)
		if !ok {
			return Override{}, Problems{unknownOverride(at, path[:i+1], s)}
		}
		s = child
	}
	if s.kind == object || s.kind == mapping {
		return Override{}, Problems{problemAt(at, path.String(), "is not a single value", hintFor("", s.listKeys(), "name a key below it"))}
	}
	n, problems := overrideNode(at, strings.TrimPrefix(value, "="), s)
	if problems != nil {
		return Override{}, problems
	}
	b := newBinder()
	b.bindNode(n, s, path)
	if len(b.problems) > 0 {
		return Override{}, b.problems
	}
	return Override{Path: path, Value: b.leaves[path.String()].Value}, nil
}

// pathFault returns what is wrong with a path, without the text it was found
// in: the value stands there too.
func pathFault(err error) string {
	_, why, _ := strings.Cut(strings.ReplaceAll(err.Error(), `\"`, ""), `": `)
	why, _, _ = strings.Cut(why, ` "`)
	why, _, _ = strings.Cut(why, " [")
	return why
}

// overridePosition returns the home of a value that was set for a run.
func overridePosition(path Path) Position { return Position{File: "override " + path.String()} }

func unknownOverride(at Position, path Path, s *shape) Problem {
	key := path[len(path)-1]
	if s.kind == scalar || s.kind == list {
		return problemAt(at, path.String(), "E-UNKNOWN-KEY: unknown key", path[:len(path)-1].String()+" is a value, not a section")
	}
	return problemAt(at, path.String(), "E-UNKNOWN-KEY: unknown key", unknownKeyHint(key, s))
}

// overrideNode takes text for a scalar as it is: a shell argument needs no
// second round of quoting. Where one value may stand for a list, a list begins with ["
// and everything else is the value, which may be [a TO b].
func overrideNode(at Position, text string, s *shape) (*node, Problems) {
	if s.kind == list && (!s.bare || strings.HasPrefix(text, `["`)) {
		n, problems := parseYAML(at.File, []byte(text))
		if problems != nil {
			return nil, problems
		}
		n.at = at
		for i := range n.items {
			n.items[i].at = at
		}
		return n, nil
	}
	n := &node{at: at, what: words, text: text}
	switch {
	case s.typ.Kind() == reflect.Bool && slices.Contains([]string{"true", "false"}, text):
		n.what = boolean
	case s.typ.Kind() == reflect.Float64, s.describeExpected() == "a whole number":
		n.what = number
	}
	return n, nil
}

// String returns path=value for people; a value that can be a secret is not shown.
func (o Override) String() string {
	if isPrivate(o.Path.String()) {
		return o.Path.String() + "=" + hidden
	}
	return o.Path.String() + "=" + textOf(o.Value)
}

// Kept returns path=value as a table may keep it (I12). A text may be a secret or name a
// person, and only its type could tell; so of texts a digest of 16 bits stays, enough to
// see that two differ and too little to find one. Numbers, switches and lengths of time
// are kept as they are.
func (o Override) Kept() string {
	text := textOf(o.Value)
	switch plainValue(o.Value).(type) {
	case bool, int, int64, float64:
	default:
		if _, isLength := o.Value.(duration.Duration); !isLength {
			text = fmt.Sprintf("(text %x)", sha256.Sum256([]byte(text)))[:len("(text ")+4] + ")"
		}
	}
	return o.Path.String() + "=" + text
}

func overrideLayer(overrides []Override) Layer {
	layer := Layer{Level: LevelOverride}
	for _, o := range overrides {
		layer.Leaves = append(layer.Leaves, Leaf{Path: o.Path, Value: o.Value, At: overridePosition(o.Path), home: o.Path.String()})
	}
	return layer
}

// textOf writes a value as a file would.
func textOf(value any) string {
	values, several := plainValue(value).([]any)
	if !several {
		return fmt.Sprint(plainValue(value))
	}
	parts := make([]string, len(values))
	for i := range parts {
		parts[i] = fmt.Sprint(values[i])
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Overridden returns the keys of a section that were set for this run, in
// order.
func (r *Resolved) Overridden(section string) (out []string) {
	for _, l := range r.merged.list {
		if l.Level == LevelOverride && len(l.Path) == 2 && l.Path[0] == section {
			out = append(out, l.Path[1])
		}
	}
	return out
}
