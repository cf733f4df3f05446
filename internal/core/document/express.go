package document

import "encoding/binary"

// express writes the canonical form of an ordinary item in one pass, many times
// as fast as the general way. Whatever is not ordinary it refuses: names that
// are not plain ASCII, deep nesting, and everything that is wrong. Then the
// general way decides, and gives the error. So express may be narrow, but what
// it writes must be the same bytes.
type express struct {
	lexer
	out     []byte
	members []member // of the open objects, the innermost last
	sorted  []byte
	orders  [64]order // of objects seen before
}

// member is a written member, with the comma behind it.
type member struct {
	key           uint64 // the first eight bytes of the name, in the order of bytes
	name, nameEnd int    // in src
	from, to      int    // in out
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

func (e *express) value(drop *node, depth int) bool {
	switch c := e.peek(); c {
	case '{':
		return depth > 0 && e.object(drop, depth-1)
	case '[':
		return depth > 0 && e.array(drop, depth-1)
	case '"':
		return e.text()
	default:
		start := e.at
		if !e.scalar(c) {
			return false
		}
		e.out = append(e.out, e.src[start:e.at]...)
		return true
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
	m := member{from: len(e.out), name: e.at + 1}
	if e.plain(); e.at == len(e.src) || e.src[e.at] != '"' {
		return false // escaped or not ASCII: its place in the order is not that of its bytes
	}
	m.nameEnd = e.at
	m.key = e.key(m.name, m.nameEnd)
	e.at++
	e.out = append(e.out, e.src[m.name-1:e.at]...)
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

// key is the start of a name. Names have no zero bytes, so a shorter one comes
// before all that it begins.
func (e *express) key(from, to int) uint64 {
	if from+8 > len(e.src) {
		var padded [8]byte
		copy(padded[:], e.src[from:to])
		return binary.BigEndian.Uint64(padded[:])
	}
	key := binary.BigEndian.Uint64(e.src[from:])
	if unused := 8 - (to - from); unused > 0 {
		key = key >> (8 * unused) << (8 * unused)
	}
	return key
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
