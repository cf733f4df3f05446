package document

import (
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// tokens is what a cursor needs of a decoder.
type tokens interface {
	PeekKind() jsontext.Kind
	ReadValue() (jsontext.Value, error)
	ReadToken() (jsontext.Token, error)
	InputOffset() int64
	StackDepth() int
}

// quick reads an ordinary page in half the time of the library's decoder, under
// the same strict rules. Names that are not plain ASCII, deep nesting and
// everything that is wrong it refuses, without saying why; then the page is read
// once more by the decoder. So what quick reads must be what the decoder reads.
type quick struct {
	lexer
	end   int  // of what was read last
	ready bool // at stands before kind, past a comma or colon
	kind  jsontext.Kind
	open  []level
	names nameStack
}

// level is an object or array that is read piece by piece.
type level struct {
	object  bool
	started bool // it has an element, or a member at least its name
	named   bool // a name was read, its value not yet
	names   nameSet
}

var errNotOrdinary = errors.New("not an ordinary page")

// quickDepth bounds the recursion below what is read piece by piece.
const quickDepth = 64

func (q *quick) InputOffset() int64 { return int64(q.end) }
func (q *quick) StackDepth() int    { return len(q.open) }

// PeekKind returns 0 for what can only be refused.
func (q *quick) PeekKind() jsontext.Kind {
	if !q.ready {
		q.kind, q.ready = q.nextKind(), true
	}
	return q.kind
}

// nextKind steps over what stands between two values.
func (q *quick) nextKind() jsontext.Kind {
	c := q.peekByte()
	if len(q.open) == 0 {
		if q.end > 0 {
			return 0 // one value is all
		}
		return kindOf(c)
	}
	top := &q.open[len(q.open)-1]
	switch {
	case top.named:
		if c != ':' {
			return 0
		}
	case !top.started:
		return kindOf(c)
	case c == ',':
	case c == '}' || c == ']':
		return jsontext.Kind(c)
	default:
		return 0
	}
	q.at++
	if c = q.peekByte(); c == '}' || c == ']' {
		return 0
	}
	return kindOf(c)
}

func kindOf(c byte) jsontext.Kind {
	switch {
	case c == '-' || '0' <= c && c <= '9':
		return '0'
	case c == '{' || c == '}' || c == '[' || c == ']' || c == '"' || c == 't' || c == 'f' || c == 'n':
		return jsontext.Kind(c)
	}
	return 0
}

// ReadValue reads a whole value, or the name of a member.
func (q *quick) ReadValue() (jsontext.Value, error) {
	kind := q.PeekKind()
	start := q.at
	switch {
	case len(q.open) > 0 && q.open[len(q.open)-1].awaitsName():
		top := &q.open[len(q.open)-1]
		if kind != '"' || !q.skipName(&top.names) {
			return nil, errNotOrdinary
		}
		top.started, top.named = true, true
		q.end, q.ready = q.at, false
		return q.src[start:q.at], nil
	case kind == 0 || kind == '}' || kind == ']' || !q.skipValue(byte(kind), quickDepth):
		return nil, errNotOrdinary
	}
	q.valueDone()
	return q.src[start:q.at], nil
}

func (l *level) awaitsName() bool { return l.object && !l.named }

func (q *quick) valueDone() {
	if len(q.open) > 0 {
		top := &q.open[len(q.open)-1]
		top.started, top.named = true, false
	}
	q.end, q.ready = q.at, false
}

// ReadToken reads the start or the end of an object or array, or finds that the
// body is at its end. No cursor looks at the token, so there is none.
func (q *quick) ReadToken() (jsontext.Token, error) {
	kind := q.PeekKind()
	var top level
	if len(q.open) > 0 {
		top = q.open[len(q.open)-1]
	}
	switch {
	case (kind == '{' || kind == '[') && !top.awaitsName():
		q.at++
		q.open = append(q.open, level{object: kind == '{', names: q.names.beginObject()})
		q.end, q.ready = q.at, false
		return jsontext.Token{}, nil
	case len(q.open) > 0 && (top.awaitsName() && kind == '}' || !top.object && kind == ']'):
		if !q.names.finishObject(top.names, q.src) {
			break
		}
		q.at++
		q.open = q.open[:len(q.open)-1]
		q.valueDone()
		return jsontext.Token{}, nil
	case len(q.open) == 0 && q.at == len(q.src) && q.end > 0:
		return jsontext.Token{}, io.EOF
	}
	return jsontext.Token{}, errNotOrdinary
}

// skipValue steps over a value of the given kind.
func (q *quick) skipValue(kind byte, depth int) bool {
	switch kind {
	case '{':
		return depth > 0 && q.skipObject(depth-1)
	case '[':
		return depth > 0 && q.skipArray(depth-1)
	case '"':
		return q.skipText()
	}
	return q.skipScalar(kind)
}

func (q *quick) skipObject(depth int) bool {
	names := q.names.beginObject()
	q.at++
	if q.peekByte() == '}' {
		q.at++
		return true
	}
	for {
		if q.peekByte() != '"' || !q.skipName(&names) || q.peekByte() != ':' {
			return false
		}
		q.at++
		if !q.skipValue(q.peekByte(), depth) {
			return false
		}
		c := q.peekByte()
		q.at++
		if c == '}' {
			return q.names.finishObject(names, q.src)
		}
		if c != ',' {
			return false
		}
	}
}

func (q *quick) skipArray(depth int) bool {
	q.at++
	if q.peekByte() == ']' {
		q.at++
		return true
	}
	for {
		if !q.skipValue(q.peekByte(), depth) {
			return false
		}
		c := q.peekByte()
		q.at++
		if c == ']' {
			return true
		}
		if c != ',' {
			return false
		}
	}
}

// skipName steps over a name that is plain ASCII and new in its object.
func (q *quick) skipName(names *nameSet) bool {
	start := q.at + 1
	if q.skipPlain(); !q.isNext('"') {
		return false
	}
	q.at++
	return q.names.addName(names, q.src, span{start, q.at - 1})
}
