package document

import "encoding/binary"

// express writes the canonical form of an ordinary item in one pass, many times
// as fast as the general way. Whatever is not ordinary it refuses: names that
// are not plain ASCII, deep nesting, and everything that is wrong. Then the
// general way decides, and gives the error. So express may be narrow, but what
// it writes must be the same bytes.
//
// Most of an item is canonical as it stands. So it is not written piece by
// piece: what lies between copied and at is still to be written, and is so when
// something must be changed.
type express struct {
	lexer
	copied  int
	out     []byte
	members []member // of the open objects, the innermost last
	sorted  []byte
	orders  [64]order // of objects seen before
	values  itemValues
}

// member is a member of an open object. Positions are those it has or will have
// in out.
type member struct {
	key           uint64 // the first eight bytes of the name, in the order of bytes
	name, nameEnd int32  // in src
	from, to      int32  // in out, without the comma behind it; the same if it is dropped
}

func (m *member) isDropped() bool { return m.from == m.to }

// Bounds of what express takes; no item of a real source comes near them.
const (
	expressDepth = 64 // of its recursion
	expressBytes = 1 << 30
)

// appendCanonical appends the canonical form of src. It returns false if src must
// take the general way; out is then to be ignored.
func (e *express) appendCanonical(dst, src []byte, drop *node) ([]byte, bool) {
	if len(dst)+len(src) > expressBytes {
		return dst, false
	}
	e.src, e.at, e.copied, e.out, e.members = src, 0, 0, dst, e.members[:0]
	ok := e.writeValue(drop, nil, expressDepth)
	if ok {
		e.writePending()
		ok = e.peekByte() == 0 && e.at == len(src)
	}
	out := e.out
	e.src, e.out = nil, nil // the pool must not hold what belongs to the caller
	return out, ok
}

// writePending writes what is still to be written.
func (e *express) writePending() {
	e.out = append(e.out, e.src[e.copied:e.at]...)
	e.copied = e.at
}

// outPosition returns where in out the next byte will stand.
func (e *express) outPosition() int { return len(e.out) + e.at - e.copied }

// peekByte skips white space and returns the next byte, 0 at the end.
func (e *express) peekByte() byte {
	if e.at < len(e.src) && e.src[e.at] > ' ' {
		return e.src[e.at]
	}
	return e.peekFurther()
}

func (e *express) peekFurther() byte {
	e.writePending()
	c := e.lexer.peekByte()
	e.copied = e.at
	return c
}

// writeValue writes the next value without what drop leads to, and takes what want leads to.
func (e *express) writeValue(drop, want *node, depth int) bool {
	switch c := e.peekByte(); c {
	case '{':
		return depth > 0 && e.writeObject(drop, want, depth-1)
	case '[':
		return depth > 0 && e.writeArray(drop, want, depth-1)
	case '"':
		return e.writeText()
	default:
		return e.skipScalar(c)
	}
}

func (e *express) writeObject(drop, want *node, depth int) bool {
	first := len(e.members)
	e.at++
	body := e.outPosition()
	if e.peekByte() == '}' {
		e.at++
		return true
	}
	for {
		if !e.writeMember(drop, want, depth) {
			return false
		}
		c := e.peekByte()
		e.at++
		if c == '}' {
			members := e.members[first:]
			e.members = e.members[:first]
			return e.arrangeMembers(members, body)
		}
		if c != ',' {
			return false
		}
	}
}

func (e *express) writeMember(drop, want *node, depth int) bool {
	if e.peekByte() != '"' {
		return false
	}
	from, name := e.outPosition(), e.at+1
	if e.skipPlain(); !e.isNext('"') {
		return false // escaped or not ASCII: its place in the order is not that of its bytes
	}
	nameEnd := e.at
	e.at++
	if e.peekByte() != ':' {
		return false
	}
	e.at++
	start := nameStart(e.src, name, nameEnd)
	dropped, wanted := drop.findMember(start, e.src[name:nameEnd]), want.findMember(start, e.src[name:nameEnd])
	if !e.takeValue(dropped, wanted, depth) {
		return false
	}
	to := e.outPosition()
	if dropped != nil && len(dropped.slots) > 0 {
		to = from
	}
	e.members = append(e.members, member{start, int32(name), int32(nameEnd), int32(from), int32(to)})
	return true
}

// nameStart returns the first eight bytes of a name. Names have no zero bytes, so a
// shorter one comes before all that it begins.
func nameStart(src []byte, from, to int) uint64 {
	if from+8 > len(src) {
		var padded [8]byte
		copy(padded[:], src[from:to])
		return binary.BigEndian.Uint64(padded[:])
	}
	key := binary.BigEndian.Uint64(src[from:])
	if unused := 8 - (to - from); unused > 0 {
		key = key >> (8 * unused) << (8 * unused)
	}
	return key
}

func (e *express) writeArray(drop, want *node, depth int) bool {
	e.at++
	if e.peekByte() == ']' {
		e.at++
		return true
	}
	for i := 0; ; i++ {
		var dropped, wanted *node
		if drop != nil {
			dropped = drop.indexes[i]
		}
		if want != nil {
			wanted = want.indexes[i]
		}
		if !e.takeValue(dropped, wanted, depth) {
			return false
		}
		c := e.peekByte()
		e.at++
		if c == ']' {
			return true
		}
		if c != ',' {
			return false
		}
	}
}
