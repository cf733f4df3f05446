package document

import "bytes"

// deeperThan reports whether raw, a valid JSON value, nests more than limit
// arrays and objects. Nearly every value is answered by its length or by
// counting brackets, which costs far less than walking it.
func deeperThan(raw []byte, limit int) bool {
	if len(raw) <= 2*limit || raw[0] != '{' && raw[0] != '[' {
		return false
	}
	if bytes.Count(raw, []byte{'{'})+bytes.Count(raw, []byte{'['}) <= limit {
		return false
	}
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i)
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// stringEnd returns the place of the quote that ends the string at start.
func stringEnd(raw []byte, start int) int {
	for i := start + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(raw)
}
