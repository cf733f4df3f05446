package registry

import "reflect"

// layZeros puts back the zeros that were written and that a default has covered,
// where a zero means something of its own: its field says zero:"ok". The others
// are kept for checkZeros, and the default holds.
func (r *Resolved) layZeros() {
	all := reflect.ValueOf(r).Elem()
	for _, l := range r.merged.list {
		if !isZero(l.Value) || len(l.Path) != 2 {
			continue
		}
		section, ok := resolvedShape().fieldNamed(l.Path[0])
		if !ok {
			continue
		}
		key, ok := section.shape.fieldNamed(l.Path[1])
		if !ok || !isCountable(key.shape.typ.Kind()) {
			continue
		}
		place := all.FieldByIndex(section.index).FieldByIndex(key.index)
		switch {
		case place.Kind() == reflect.Pointer || place.IsZero():
		case section.shape.typ.FieldByIndex(key.index).Tag.Get("zero") == "ok":
			place.SetZero()
		default:
			r.zeros = append(r.zeros, l.Path)
		}
	}
}

func isCountable(k reflect.Kind) bool {
	return k == reflect.Int || k == reflect.Int64 || k == reflect.Float64
}

// checkZeros refuses a zero that would silently become the default.
func (r *Resolved) checkZeros() Problems {
	var out Problems
	for _, path := range r.zeros {
		out = append(out, r.problemAt(path, "E-ZERO: 0 has no meaning here", "leave the key out for the default"))
	}
	return out
}
