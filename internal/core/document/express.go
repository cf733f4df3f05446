package document

import (
	"bytes"
	"slices"
)

// express writes the canonical form of an ordinary item in one pass, four times
// as fast as the general way. Whatever is not ordinary it refuses: names that
// are not plain ASCII, deep nesting, and everything that is wrong. Then the
// general way decides, and gives the error. So express may be narrow, but what
// it writes must be the same bytes.
type express struct {
	src     []byte
	at      int
	out     []byte
	members []member // of the open objects, the innermost last
	sorted  []byte
}

// member is a written member, with the comma behind it. Positions instead of
// slices, because moving pointers about while sorting costs more than the rest.
type member struct {
	name, nameEnd int // in src
	from, to      int // in out
}

// expressDepth bounds the recursion; no item of a real source comes near it.
const expressDepth = 64

// append is false if src must go the general way; out is then to be ignored.
func (e *express) append(dst, src []byte, drop *node) ([]byte, bool) {
	e.src, e.at, e.out, e.members = src, 0, dst, e.members[:0]
	ok := e.value(drop, expressDepth) && e.peek() == 0 && e.at == len(src)
	out := e.out
	e.src, e.out = nil, nil // the pool must not hold what belongs to the caller
	return out, ok
}

// peek skips white space and returns the next byte, 0 at the end.
func (e *express) peek() byte {
	for ; e.at < len(e.src); e.at++ {
		switch c := e.src[e.at]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

func (e *express) value(drop *node, depth int) bool {
	switch c := e.peek(); c {
	case '{':
		return depth > 0 && e.object(drop, depth-1)
	case '[':
		return depth > 0 && e.array(drop, depth-1)
	case '"':
		return e.text()
	case 't':
		return e.word("true")
	case 'f':
		return e.word("false")
	case 'n':
		return e.word("null")
	default:
		return e.number()
	}
}

func (e *express) object(drop *node, depth int) bool {
	first := len(e.members)
	e.out = append(e.out, '{')
	body := len(e.out)
	e.at++
	if e.peek() == '}' {
		e.at++
		e.out = append(e.out, '}')
		return true
	}
	for {
		if !e.member(drop, depth) {
			return false
		}
		c := e.peek()
		e.at++
		if c == '}' {
			break
		}
		if c != ',' {
			return false
		}
	}
	if !e.sort(e.members[first:], body) {
		return false
	}
	e.members = e.members[:first]
	if len(e.out) > body {
		e.out = e.out[:len(e.out)-1] // the last comma
	}
	e.out = append(e.out, '}')
	return true
}

func (e *express) member(drop *node, depth int) bool {
	if e.peek() != '"' {
		return false
	}
	m := member{from: len(e.out)}
	start := e.at
	if e.plain(); e.at == len(e.src) || e.src[e.at] != '"' {
		return false // escaped or not ASCII: its place in the order is not that of its bytes
	}
	e.at++
	m.name, m.nameEnd = start+1, e.at-1
	e.out = append(e.out, e.src[start:e.at]...)
	if e.peek() != ':' {
		return false
	}
	e.at++
	e.out = append(e.out, ':')
	var child *node
	if drop != nil {
		child = drop.names[string(e.src[m.name:m.nameEnd])]
	}
	if !e.value(child, depth) {
		return false
	}
	if child != nil && len(child.slots) > 0 {
		e.out = e.out[:m.from]
		return true
	}
	e.out = append(e.out, ',')
	m.to = len(e.out)
	e.members = append(e.members, m)
	return true
}

// sort puts the members of an object in order; false if a name is there twice.
func (e *express) sort(members []member, body int) bool {
	if sorted, twice := e.check(members); sorted || twice {
		return !twice
	}
	slices.SortFunc(members, e.compare)
	if _, twice := e.check(members); twice {
		return false
	}
	e.sorted = e.sorted[:0]
	for _, m := range members {
		e.sorted = append(e.sorted, e.out[m.from:m.to]...)
	}
	copy(e.out[body:], e.sorted)
	return true
}

func (e *express) compare(a, b member) int {
	return bytes.Compare(e.src[a.name:a.nameEnd], e.src[b.name:b.nameEnd])
}

// check compares neighbours.
func (e *express) check(members []member) (sorted, twice bool) {
	for i := 1; i < len(members); i++ {
		switch c := e.compare(members[i-1], members[i]); {
		case c > 0:
			return false, false
		case c == 0:
			return false, true
		}
	}
	return true, false
}

func (e *express) array(drop *node, depth int) bool {
	e.at++
	e.out = append(e.out, '[')
	if e.peek() == ']' {
		e.at++
		e.out = append(e.out, ']')
		return true
	}
	for i := 0; ; i++ {
		var child *node
		if drop != nil {
			child = drop.indexes[i]
		}
		if !e.value(child, depth) {
			return false
		}
		c := e.peek()
		e.at++
		if c != ',' && c != ']' {
			return false
		}
		e.out = append(e.out, c)
		if c == ']' {
			return true
		}
	}
}
