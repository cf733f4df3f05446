package sector

import (
	"strings"

	"github.com/patra-ingest/patra/internal/core/record"
)

// Meet reports whether two names of sectors have a part of the list in common: they are the same, or one is a run of parents
// that has the other, or some of it. A run that lags is behind for each of its parents (decision 140).
func Meet(a, b string) bool {
	if a == b {
		return true
	}
	as, bs := strings.Split(a, ","), strings.Split(b, ",")
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		ofA, valueA, _ := strings.Cut(as[i], "=")
		ofB, valueB, _ := strings.Cut(bs[i], "=")
		if ofA != ofB || valueA != valueB && !parentsMeet(plain.Replace(valueA), plain.Replace(valueB)) {
			return false
		}
	}
	return true
}

// parentsMeet does so with what stands in the place of a value.
func parentsMeet(a, b string) bool {
	one, errOne := ParseParent(a)
	other, errOther := ParseParent(b)
	switch {
	case errOne != nil || errOther != nil:
		return false
	case one.Run != nil && other.Run != nil:
		return one.Run.meets(*other.Run)
	case one.Run != nil:
		return one.Run.Holds(other.Key)
	case other.Run != nil:
		return other.Run.Holds(one.Key)
	}
	return one.Key == other.Key
}

// meets reports whether runs of two divisions share parents. Both divide by a power of two, so one of them holds the other.
func (r Run) meets(o Run) bool {
	if r.Of > o.Of {
		r, o = o, r
	}
	return o.No/(o.Of/r.Of) == r.No
}

// KeyIn returns the key of the one parent that a sector is, by its name; one is false where it is a run of them. of are the values
// of a sector of the same list, of which the names of the entries matter.
func KeyIn(name string, of map[string]string) (key record.Key, one bool) {
	for _, part := range strings.Split(name, ",") {
		entry, value, _ := strings.Cut(part, "=")
		mine, err := ParseParent(of[entry])
		if err != nil || mine.Run == nil {
			continue // this entry lists its values
		}
		meant, err := ParseParent(plain.Replace(value))
		return meant.Key, err == nil && meant.Run == nil
	}
	return key, false
}
