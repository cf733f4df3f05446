package document

import (
	"bytes"
	"slices"
)

// nameStack holds the names of the objects being read, the innermost last.
type nameStack []span

// nameSet is one object's part of the stack.
type nameSet struct {
	first  int
	filter uint64 // a bit for each name; several names may share one
}

// manyNames are not compared with each other one by one: a page could be made
// so that it never ends. They are sorted when their object ends.
const manyNames = 64

func (s *nameStack) beginObject() nameSet { return nameSet{first: len(*s)} }

// addName returns false if the name is there already. A second name among many is
// found at the end of the object.
func (s *nameStack) addName(set *nameSet, src []byte, name span) bool {
	bit := filterBit(src[name.start:name.end])
	if others := (*s)[set.first:]; set.filter&bit != 0 && len(others) < manyNames {
		for _, other := range others {
			if other.end-other.start == name.end-name.start && bytes.Equal(src[other.start:other.end], src[name.start:name.end]) {
				return false
			}
		}
	}
	set.filter |= bit
	*s = append(*s, name)
	return true
}

func filterBit(name []byte) uint64 {
	n := len(name)
	if n == 0 {
		return 1
	}
	return 1 << ((uint(name[0])*7 ^ uint(name[n/2])*13 ^ uint(name[n-1])*29 ^ uint(n)) & 63)
}

// finishObject forgets the names of an object; false if one was there twice.
func (s *nameStack) finishObject(set nameSet, src []byte) bool {
	names := (*s)[set.first:]
	*s = (*s)[:set.first]
	if len(names) <= manyNames {
		return true
	}
	text := func(n span) []byte { return src[n.start:n.end] }
	slices.SortFunc(names, func(a, b span) int { return bytes.Compare(text(a), text(b)) })
	for i := 1; i < len(names); i++ {
		if bytes.Equal(text(names[i-1]), text(names[i])) {
			return false
		}
	}
	return true
}
