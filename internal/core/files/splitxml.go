package files

import (
	"bytes"
	"errors"
	"fmt"
)

// elementScanner finds the elements below the root of a document of XML.
type elementScanner struct {
	head []byte // the declarations and the start tag of the root
	root []byte // its name
}

// mark is a piece of markup.
type mark struct {
	kind  byte // '<' start, '/' end, '0' empty element, '?' anything else
	begin int
	end   int
	name  []byte
}

// longestMark is more than a tag, a comment or a piece of CDATA has.
const longestMark = 8 << 20

var markEnds = []struct{ begin, end string }{{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}}

// nextMark finds the next piece of markup. more says that not all of it is there.
func nextMark(data []byte, from int) (m mark, more bool, err error) {
	n := bytes.IndexByte(data[from:], '<')
	if n < 0 {
		return m, true, nil
	}
	m.begin = from + n
	rest := data[m.begin:]
	if len(rest) < len("<![CDATA[") && bytes.IndexByte(rest, '>') < 0 {
		return m, true, nil
	}
	for _, e := range markEnds {
		if bytes.HasPrefix(rest, []byte(e.begin)) {
			n := bytes.Index(rest[len(e.begin):], []byte(e.end))
			if n < 0 {
				return m, true, tooLongMark(rest)
			}
			m.kind, m.end = '?', m.begin+len(e.begin)+n+len(e.end)
			return m, false, nil
		}
	}
	end := endOfTag(rest)
	if end < 0 {
		return m, true, tooLongMark(rest)
	}
	m.end = m.begin + end
	tag := rest[1 : end-1]
	switch {
	case tag[0] == '!':
		m.kind = '?'
	case tag[0] == '/':
		m.kind, m.name = '/', nameOf(tag[1:])
	case bytes.HasSuffix(tag, []byte("/")):
		m.kind, m.name = '0', nameOf(tag)
	default:
		m.kind, m.name = '<', nameOf(tag)
	}
	if m.kind != '?' && len(m.name) == 0 {
		return m, false, errors.New("a tag has no name")
	}
	return m, false, nil
}

func tooLongMark(rest []byte) error {
	if len(rest) > longestMark {
		return fmt.Errorf("a piece of markup is longer than %d bytes", longestMark)
	}
	return nil
}

// endOfTag returns where a tag ends, quotes and the brackets of a DOCTYPE apart; -1: not yet.
func endOfTag(data []byte) int {
	var quote byte
	inner := 0
	for i := 1; i < len(data); i++ {
		switch c := data[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' && data[1] == '!':
			inner++
		case c == ']' && inner > 0:
			inner--
		case c == '>' && inner == 0:
			if i == 1 {
				return -1
			}
			return i + 1
		}
	}
	return -1
}

func nameOf(tag []byte) []byte {
	if n := bytes.IndexAny(tag, " \t\r\n/>"); n >= 0 {
		return tag[:n]
	}
	return tag
}

func (e *elementScanner) open(data []byte, last bool) (int, bool, error) {
	if bytes.IndexByte(data[:min(len(data), 64)], 0) >= 0 {
		return 0, false, errors.New("the file is in UTF-16 or not text")
	}
	for at := 0; ; {
		m, more, err := nextMark(data, at)
		switch {
		case more || err != nil:
			return 0, true, err
		case m.kind == '/':
			return 0, false, errors.New("the document begins with an end tag")
		case m.kind == '0':
			return 0, false, errors.New("the root of the document is empty")
		case m.kind == '<':
			e.head, e.root = bytes.Clone(data[:m.end]), bytes.Clone(m.name)
			return m.end, false, nil
		}
		at = m.end
	}
}

func (e *elementScanner) next(data []byte, from int, _, last bool) (begin, end int, more, done bool, err error) {
	depth := 0
	for at := from; ; {
		m, more, err := nextMark(data, at)
		if more || err != nil {
			return 0, 0, more && err == nil, false, err
		}
		switch at = m.end; m.kind {
		case '<':
			if depth == 0 {
				begin = m.begin
			}
			depth++
		case '0':
			if depth == 0 {
				return m.begin, m.end, false, false, nil
			}
		case '/':
			if depth--; depth == 0 {
				return begin, m.end, false, false, nil
			}
			if depth < 0 {
				return e.closeRoot(data, m, last)
			}
		}
	}
}

// closeRoot looks at what stands behind the end of the root.
func (e *elementScanner) closeRoot(data []byte, m mark, last bool) (begin, end int, more, done bool, err error) {
	if !bytes.Equal(m.name, e.root) {
		return 0, 0, false, false, fmt.Errorf("the root %.40q is closed by %.40q", e.root, m.name)
	}
	for at := m.end; ; {
		if at = skipSpace(data, at); at == len(data) {
			return 0, 0, !last, last, nil
		}
		behind, more, err := nextMark(data, at)
		switch {
		case data[at] != '<', err == nil && !more && behind.kind != '?':
			return 0, 0, false, false, errors.New("there is more after the end of the document")
		case more || err != nil:
			return 0, 0, more && err == nil, false, err
		}
		at = behind.end
	}
}

func (e *elementScanner) wrap(items []byte) []byte {
	out := make([]byte, 0, len(e.head)+len(items)+len(e.root)+3)
	out = append(out, e.head...)
	out = append(out, items...)
	out = append(out, "</"...)
	out = append(out, e.root...)
	return append(out, '>')
}
