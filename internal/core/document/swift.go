package document

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder steps through a JSON text. There are two: that of the library, which takes
// every text and says what is wrong with one, and swift.
type decoder interface {
	PeekKind() jsontext.Kind
	ReadValue() (jsontext.Value, error)
	ReadToken() (jsontext.Token, error)
	InputOffset() int64
	StackDepth() int
}

// swift is a decoder for ordinary texts, under the strict rules of the other one and
// several times as fast. Whatever is not ordinary it refuses: names that are not plain
// ASCII, objects of many members, deep nesting, and everything that is wrong. The whole
// text is then read by the other decoder. What it takes it reads as that one does.
type swift struct {
	lexer
	end   int  // of the last token or value
	ready bool // it stands on the next token: what is before it was stepped over
	bad   bool // the text is refused
	open  []container
	names []nameSpan // of the open objects, the innermost last
}

// container is an array or object whose end was not read yet.
type container struct {
	object bool
	named  bool   // the name of the next member was read
	count  int    // of values so far
	names  int    // where the names of an object begin
	seen   uint64 // a bit for each of them
}

// nameSpan is where a name of an open object stands.
type nameSpan struct {
	key      uint64
	from, to int
}

// Bounds of what swift takes.
const (
	swiftDepth   = 64  // of a value that is stepped over
	swiftMembers = 200 // of an object: names are held against one another
)

var errNotSwift = errors.New("this text is not for the swift decoder")

// StackDepth returns how many arrays and objects are open.
func (d *swift) StackDepth() int { return len(d.open) }

// InputOffset returns where the last token or value ended.
func (d *swift) InputOffset() int64 { return int64(d.end) }

// PeekKind returns how the next token begins; 0 if the text is refused or ends.
func (d *swift) PeekKind() jsontext.Kind {
	if !d.stepToNext() {
		return 0
	}
	return jsontext.Kind(d.peekByte())
}

// stepToNext steps over the comma or colon before the next token.
func (d *swift) stepToNext() bool {
	if d.bad || d.ready {
		return !d.bad
	}
	d.ready = true
	c := d.peekByte()
	if len(d.open) == 0 {
		return true
	}
	in := &d.open[len(d.open)-1]
	want := byte(0)
	switch {
	case in.object && in.named:
		want = ':'
	case in.count > 0 && c != '}' && c != ']':
		want = ','
	}
	if want == 0 {
		return true
	}
	if d.bad = c != want; d.bad {
		return false
	}
	d.at++
	if c = d.peekByte(); c == '}' || c == ']' {
		d.bad = true // a comma or colon with nothing behind it
	}
	return !d.bad
}

// ReadValue reads the next value, or the next name.
func (d *swift) ReadValue() (jsontext.Value, error) {
	if !d.stepToNext() {
		return nil, errNotSwift
	}
	d.peekByte()
	start := d.at
	if n := len(d.open); n > 0 && d.open[n-1].object && !d.open[n-1].named {
		d.bad = !d.readName(&d.open[n-1])
	} else if d.bad = !d.skipValue(swiftDepth); !d.bad {
		d.noteValue()
	}
	if d.bad {
		return nil, errNotSwift
	}
	d.end, d.ready = d.at, false
	return d.src[start:d.at], nil
}

// ReadToken reads the begin or end of an array or object; io.EOF at the end of the text.
func (d *swift) ReadToken() (jsontext.Token, error) {
	if !d.stepToNext() {
		return jsontext.Token{}, errNotSwift
	}
	n := len(d.open)
	switch c := d.peekByte(); {
	case c == 0 && d.at == len(d.src) && n == 0:
		return jsontext.Token{}, io.EOF
	case (c == '{' || c == '[') && !(n > 0 && d.open[n-1].object && !d.open[n-1].named):
		d.open = append(d.open, container{object: c == '{', names: len(d.names)})
	case c == '}' && n > 0 && d.open[n-1].object && !d.open[n-1].named, c == ']' && n > 0 && !d.open[n-1].object:
		d.names = d.names[:d.open[n-1].names]
		d.open = d.open[:n-1]
		d.noteValue()
	default:
		d.bad = true
		return jsontext.Token{}, errNotSwift
	}
	d.at++
	d.end, d.ready = d.at, false
	return jsontext.Token{}, nil
}

// noteValue notes that a value of the innermost container was read.
func (d *swift) noteValue() {
	if n := len(d.open); n > 0 {
		d.open[n-1].count++
		d.open[n-1].named = false
	}
}

// readName reads the name of a member, which must be the first of that name.
func (d *swift) readName(in *container) bool {
	if d.peekByte() != '"' {
		return false
	}
	from := d.at + 1
	if d.skipPlain(); !d.isNext('"') {
		return false // escaped or not ASCII: two spellings may be one name
	}
	in.named = true
	ok := d.addName(in, from, d.at)
	d.at++
	return ok
}

// addName holds a name against those of its object.
func (d *swift) addName(in *container, from, to int) bool {
	name := nameSpan{nameStart(d.src, from, to), from, to}
	bit := uint64(1) << ((name.key ^ uint64(to-from)) * 0x9e3779b97f4a7c15 >> 58)
	if in.seen&bit != 0 {
		for _, other := range d.names[in.names:] {
			if other.key == name.key && bytes.Equal(d.src[other.from:other.to], d.src[from:to]) {
				return false
			}
		}
	}
	in.seen |= bit
	d.names = append(d.names, name)
	return len(d.names)-in.names <= swiftMembers
}

// skipValue steps over a value and checks all of it.
func (d *swift) skipValue(depth int) bool {
	switch c := d.peekByte(); c {
	case '{':
		return depth > 0 && d.skipObject(depth-1)
	case '[':
		return depth > 0 && d.skipArray(depth-1)
	case '"':
		return d.skipText()
	default:
		return d.skipScalar(c)
	}
}

func (d *swift) skipObject(depth int) bool {
	d.at++
	if d.peekByte() == '}' {
		d.at++
		return true
	}
	in := container{object: true, names: len(d.names)}
	for {
		if !d.readName(&in) || d.peekByte() != ':' {
			return false
		}
		d.at++
		if !d.skipValue(depth) {
			return false
		}
		c := d.peekByte()
		d.at++
		if c == '}' {
			d.names = d.names[:in.names]
			return true
		}
		if c != ',' {
			return false
		}
	}
}

func (d *swift) skipArray(depth int) bool {
	d.at++
	if d.peekByte() == ']' {
		d.at++
		return true
	}
	for {
		if !d.skipValue(depth) {
			return false
		}
		c := d.peekByte()
		d.at++
		if c == ']' {
			return true
		}
		if c != ',' {
			return false
		}
	}
}

// skipText steps over a string.
func (d *swift) skipText() bool {
	start, ascii := d.at, true
	for d.skipPlain(); d.at < len(d.src); d.skipPlain() {
		switch c := d.src[d.at]; {
		case c == '"':
			d.at++
			return ascii || utf8.Valid(d.src[start:d.at])
		case c == '\\':
			if !d.skipEscape() {
				return false
			}
			d.at-- // plain steps over one byte first
		case c >= utf8.RuneSelf:
			ascii = false
		default:
			return false // a control character
		}
	}
	return false
}

func (d *swift) skipEscape() bool {
	if d.at+1 >= len(d.src) {
		return false
	}
	switch d.src[d.at+1] {
	case '/', '"', '\\', 'b', 'f', 'n', 'r', 't':
		d.at += 2
		return true
	case 'u':
		_, ok := d.codePoint()
		return ok
	}
	return false
}
