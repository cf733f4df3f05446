package registry

import (
	"reflect"
	"regexp"
	"strings"
)

// preset is what holds where a file says nothing.
type preset struct {
	value any    // as JSON has it; nil where there is none, or a rule decides
	text  string // for people; "" where there is none
}

var documentedDefault = regexp.MustCompile(`\(default ([^)]*)\)`)

// defaultOf takes the default of a key from its documentation, which alone knows
// where it depends on other keys, else from the section's WithDefaults.
func defaultOf(owner *shape, f field) preset {
	if m := documentedDefault.FindStringSubmatch(f.doc); m != nil {
		return readDefault(f.shape, m[1])
	}
	if value, ok := filledDefault(owner, f); ok {
		return preset{plainValue(value), textOf(value)}
	}
	if owner.typ.FieldByIndex(f.index).Type.Kind() == reflect.Bool {
		return preset{false, "false"}
	}
	return preset{}
}

// readDefault reads "PT30S, at most PT2M" as the value it starts with. A text
// that is no value, such as "by precision", is for people only.
func readDefault(s *shape, phrase string) preset {
	first, _, _ := strings.Cut(phrase, "; ")
	if s.kind != list {
		first, _, _ = strings.Cut(first, ", ")
	}
	isWords := s.typ.Kind() == reflect.String && len(s.enum) == 0 && strings.Contains(first, " ")
	if s.kind != scalar || isWords {
		return preset{text: first}
	}
	n, _ := overrideNode(Position{}, first, s)
	b := newBinder()
	b.bindNode(n, s, Path{"default"})
	if len(b.problems) > 0 {
		return preset{text: phrase}
	}
	return preset{plainValue(b.leaves["default"].Value), first}
}

// filledDefault returns the value that a section has there if the file leaves it
// out.
func filledDefault(owner *shape, f field) (value any, ok bool) {
	empty := reflect.New(owner.typ).Elem()
	method := empty.MethodByName("WithDefaults")
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 || method.Type().Out(0) != owner.typ {
		return nil, false
	}
	v := method.Call(nil)[0].FieldByIndex(f.index)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, false
		}
		return v.Elem().Interface(), true
	}
	return v.Interface(), f.shape.kind == scalar && !v.IsZero()
}
