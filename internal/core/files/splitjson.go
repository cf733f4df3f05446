package files

import (
	"errors"
	"fmt"
)

// arrayScanner finds the values of an array of JSON. It knows where a value ends and nothing
// else of it: what is wrong inside is told by whoever reads the chunk.
type arrayScanner struct{}

func skipSpace(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\n' || data[at] == '\r' || data[at] == '\t') {
		at++
	}
	return at
}

func (*arrayScanner) open(data []byte, last bool) (int, bool, error) {
	at, more := afterMark(data, last)
	if more {
		return 0, true, nil
	}
	if at = skipSpace(data, at); at == len(data) {
		return 0, true, nil
	}
	if data[at] != '[' {
		return 0, false, fmt.Errorf("the file is no array of JSON: it begins with %q", data[at])
	}
	return at + 1, false, nil
}

func (*arrayScanner) next(data []byte, from int, first, last bool) (begin, end int, more, done bool, err error) {
	at := skipSpace(data, from)
	if at == len(data) {
		return 0, 0, true, false, nil
	}
	if data[at] == ']' {
		if rest := skipSpace(data, at+1); rest < len(data) {
			return 0, 0, false, false, errors.New("there is more after the end of the array")
		}
		return 0, 0, !last, last, nil
	}
	if !first {
		if data[at] != ',' {
			return 0, 0, false, false, fmt.Errorf("%q stands where a comma or the end of the array should", data[at])
		}
		if at = skipSpace(data, at+1); at == len(data) {
			return 0, 0, true, false, nil
		}
	}
	end, more, err = endOfValue(data, at)
	return at, end, more, false, err
}

// endOfValue returns where the value ends that begins at a place.
func endOfValue(data []byte, at int) (end int, more bool, err error) {
	depth := 0
	for i := at; i < len(data); i++ {
		switch data[i] {
		case '"':
			if i = endOfString(data, i); i < 0 {
				return 0, true, nil
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return endOfScalar(data, at, i)
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return endOfScalar(data, at, i)
			}
			continue
		default:
			continue // of a number or a name
		}
		if depth == 0 {
			return i + 1, false, nil
		}
	}
	return 0, true, nil // also a number that may go on
}

func endOfScalar(_ []byte, at, end int) (int, bool, error) {
	if end == at {
		return 0, false, errors.New("a value is missing in the array")
	}
	return end, false, nil
}

// endOfString returns where the closing quote of a string stands; -1 if it is not there yet.
func endOfString(data []byte, at int) int {
	for i := at + 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

func (*arrayScanner) wrap(items []byte) []byte {
	out := make([]byte, 0, len(items)+2)
	out = append(out, '[')
	out = append(out, items...)
	return append(out, ']')
}
