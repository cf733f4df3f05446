package document

import "strings"

// maxTimes bounds overlapping selectors: each "[*,*]" doubles the nodes. Names such as ['a','b'] count
// too, since the same one may stand there twice.
const maxTimes = 16

// refuseCostly keeps the work of a non-singular path linear in the body. The
// selecting library has no budget of its own, so the shapes that multiply the
// work are refused: two descents, and a filter that starts again at the root
// for every element.
func refuseCostly(text string) error {
	bare := blankLiterals(text)
	if at := strings.LastIndex(bare, ".."); at != strings.Index(bare, "..") {
		return &PathError{text, at + 1, "a second \"..\" costs too much on a large page; name the members instead"}
	}
	if at := strings.LastIndexByte(bare, '$'); at > 0 {
		return &PathError{text, at + 1, "a filter may not start at \"$\" again; compare with \"@\" or a constant"}
	}
	if timesSelected(bare) > maxTimes {
		return &PathError{text, strings.LastIndexByte(bare, ',') + 1, "too many selectors; use several paths"}
	}
	return nil
}

// timesSelected returns how often a path may select one node at most: the selectors of its brackets,
// multiplied. It counts no further than one more than may be.
func timesSelected(bare string) int {
	times := 1
	var open []int
	for _, c := range bare {
		switch {
		case c == '[':
			open = append(open, 1)
		case c == ',' && len(open) > 0:
			open[len(open)-1]++
		case c == ']' && len(open) > 0:
			times = min(times*open[len(open)-1], maxTimes+1)
			open = open[:len(open)-1]
		}
	}
	return times
}

// blankLiterals replaces every byte of the string literals by a space, so that
// what is left is grammar and positions stay the same.
func blankLiterals(text string) string {
	out := []byte(text)
	var quote byte
	for i := 0; i < len(out); i++ {
		switch c := text[i]; {
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0:
			continue
		case c == quote:
			quote = 0
		case c == '\\' && i+1 < len(out):
			out[i] = ' '
			i++
		}
		out[i] = ' '
	}
	return string(out)
}
