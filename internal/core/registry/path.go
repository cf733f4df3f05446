package registry

import (
	"fmt"
	"strconv"
	"strings"
)

// Path names a value by the keys that lead to it, outermost first.
type Path []string

// isPlain reports whether a key can stand in dotted form. Others are written
// ["quoted"]: real query parameters are called query.bibliographic.
func isPlain(key string) bool {
	for i := range len(key) {
		c := key[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return key != ""
}

func (p Path) String() string {
	if len(p) == 1 && isPlain(p[0]) {
		return p[0]
	}
	size := 0
	for _, key := range p {
		size += len(key) + 1
	}
	out := make([]byte, 0, size)
	for i, key := range p {
		switch {
		case !isPlain(key):
			out = append(strconv.AppendQuote(append(out, '['), key), ']')
		case i == 0:
			out = append(out, key...)
		default:
			out = append(append(out, '.'), key...)
		}
	}
	return string(out)
}

// withKey returns p and one more key, never sharing memory with p.
func (p Path) withKey(key string) Path {
	return append(append(make(Path, 0, len(p)+1), p...), key)
}

// parsePath reads what String writes, up to an unquoted stop character or the
// end, and returns the rest.
func parsePath(text, stop string) (path Path, rest string, err error) {
	rest = text
	for {
		var key string
		switch {
		case strings.HasPrefix(rest, `["`):
			quoted, err := strconv.QuotedPrefix(rest[1:])
			if err != nil || !strings.HasPrefix(rest[1+len(quoted):], "]") {
				return nil, rest, fmt.Errorf("path %q: no closing quote and bracket after %q", text, path)
			}
			key, _ = strconv.Unquote(quoted)
			rest = rest[len(quoted)+2:]
		default:
			end := strings.IndexAny(rest, `.["`+stop)
			if end < 0 {
				end = len(rest)
			}
			key, rest = rest[:end], rest[end:]
			if key == "" {
				return nil, rest, fmt.Errorf("path %q: a key is empty", text)
			}
		}
		path = append(path, key)
		switch {
		case rest == "", stop != "" && strings.HasPrefix(rest, stop):
			return path, rest, nil
		case rest[0] == '.':
			rest = rest[1:]
		case !strings.HasPrefix(rest, `["`):
			return nil, rest, fmt.Errorf("path %q: expected a dot before %q", text, rest)
		}
	}
}
