package sector

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseValues reads the values of a file that lists them: one a line. Blank lines and lines that begin with # say nothing,
// and blanks around a value are no part of it. An error names the line. Everything is refused that a person could not see
// in the file and that would make another value of one: a value nobody meant is a part that is asked for in vain, and the
// one that was meant is never asked for.
func ParseValues(text []byte) ([]string, error) {
	var out []string
	first := map[string]int{}
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		number++
		if !utf8.Valid(line) {
			return nil, fmt.Errorf("line %d is not UTF-8; save the file as UTF-8", number)
		}
		value := strings.TrimSpace(string(line))
		if value == "" || strings.HasPrefix(value, "#") {
			continue
		}
		if err := checkLine(value); err != nil {
			return nil, fmt.Errorf("line %d %w", number, err)
		}
		if before, twice := first[value]; twice {
			return nil, fmt.Errorf("line %d: %q stands there twice, first in line %d", number, value, before)
		}
		if len(out) == Most {
			return nil, fmt.Errorf("line %d is one value too many: at most %d are read", number, Most)
		}
		first[value] = number
		out = append(out, value)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there is no value in it: write one a line")
	}
	return out, nil
}

// checkLine refuses a value that is too long, or that has characters which cannot be seen.
func checkLine(value string) error {
	if len(escaped.Replace(value)) > Longest/2 {
		return fmt.Errorf("is longer than %d bytes: is it the right file?", Longest/2)
	}
	for _, r := range value {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("has the character %U, which cannot be seen", r)
		}
	}
	return nil
}
