package registry

import (
	"maps"
	"reflect"
	"slices"
)

// Leaf is one value with its home. Lists are leaves: a list replaces a list.
type Leaf struct {
	Path  Path
	Value any // of the Go type of its field, without pointer
	Level Level
	At    Position
	home  string // full path in the source; Path may start at a section
}

// leafSet holds leaves by the text of their path.
type leafSet map[string]Leaf

func (s leafSet) addLeaf(l Leaf) { s[l.Path.String()] = l }

func (s leafSet) sortLeaves() []Leaf {
	out := make([]Leaf, 0, len(s))
	for _, key := range slices.Sorted(maps.Keys(s)) {
		out = append(out, s[key])
	}
	return out
}

// flattenValue lists what is set in v. A zero scalar counts as unset, except where
// its presence shows: behind a pointer or as the value of a map key.
func flattenValue(s *shape, v reflect.Value, path Path, out leafSet) {
	present := false
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v, present = v.Elem(), true
	}
	switch s.kind {
	case object:
		for _, f := range s.fields {
			// Most fields are not set, and a path costs more than a look.
			if value := v.FieldByIndex(f.index); f.shape.kind == object && value.Kind() != reflect.Pointer || !value.IsZero() {
				flattenValue(f.shape, value, path.withKey(f.name), out)
			}
		}
	case mapping:
		for _, key := range v.MapKeys() {
			below := path.withKey(key.String())
			if value := v.MapIndex(key); s.elem.kind == scalar {
				out.addLeaf(Leaf{Path: below, Value: value.Interface()})
			} else {
				flattenValue(s.elem, value, below, out)
			}
		}
	case list:
		if !v.IsNil() {
			out.addLeaf(Leaf{Path: path, Value: v.Interface()})
		}
	default:
		if present || !v.IsZero() {
			out.addLeaf(Leaf{Path: path, Value: v.Interface()})
		}
	}
}

// assembleValue does the inverse of flatten: it writes leaves into v, which is zero
// or holds what was written before. Containers without leaves stay nil.
func assembleValue(s *shape, v reflect.Value, leaves []Leaf, depth int) {
	if len(leaves) == 0 {
		return
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(s.typ))
		}
		v = v.Elem()
	}
	if depth == len(leaves[0].Path) {
		v.Set(reflect.ValueOf(leaves[0].Value))
		return
	}
	if s.kind == mapping && v.IsNil() {
		v.Set(reflect.MakeMap(s.typ))
	}
	// Leaves of one key stand together, or nearly so: sorted as texts, a["."] and
	// a.b may have ab between them. Then the key comes twice.
	for len(leaves) > 0 {
		key, n := leaves[0].Path[depth], 1
		for n < len(leaves) && leaves[n].Path[depth] == key {
			n++
		}
		assembleKey(s, v, key, leaves[:n], depth)
		leaves = leaves[n:]
	}
}

func assembleKey(s *shape, v reflect.Value, key string, leaves []Leaf, depth int) {
	if s.kind != mapping {
		if f, ok := s.fieldNamed(key); ok {
			assembleValue(f.shape, v.FieldByIndex(f.index), leaves, depth+1)
		}
		return
	}
	value := reflect.New(s.elem.typ).Elem()
	if before := v.MapIndex(reflect.ValueOf(key)); before.IsValid() {
		value.Set(before)
	}
	assembleValue(s.elem, value, leaves, depth+1)
	v.SetMapIndex(reflect.ValueOf(key), value)
}

// holdsPath reports whether every container on the way to path exists in v.
func holdsPath(s *shape, v reflect.Value, path Path) bool {
	if len(path) <= 1 {
		return true
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return false
		}
		v = v.Elem()
	}
	if s.kind == mapping {
		value := v.MapIndex(reflect.ValueOf(path[0]))
		return value.IsValid() && holdsPath(s.elem, value, path[1:])
	}
	f, ok := s.fieldNamed(path[0])
	return ok && holdsPath(f.shape, v.FieldByIndex(f.index), path[1:])
}
