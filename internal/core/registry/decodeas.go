package registry

import "reflect"

// DecodeAs reads a file of another kind with the rules of source files: keys are
// those of T and its tags, unknown ones are refused, and every problem has its
// line. The error, if any, is Problems. A file without values gives a zero T.
func DecodeAs[T any](file string, text []byte) (*T, Origins, error) {
	out, b := new(T), newBinder()
	if isBlank(text) {
		return out, b.places, nil
	}
	root, problems := parseYAML(file, text)
	if problems != nil {
		for i := range problems {
			problems[i].Code = "E-SYNTAX"
		}
		return nil, nil, problems
	}
	b.places[""] = root.at
	is := shapeOf(reflect.TypeFor[T](), nil)
	b.bindNode(root, is, nil)
	if len(b.problems) > 0 {
		return nil, nil, b.problems.sortProblems()
	}
	assembleValue(is, reflect.ValueOf(out).Elem(), b.leaves.sortLeaves(), 0)
	return out, b.places, nil
}

// isBlank reports that a text holds nothing but comments.
func isBlank(text []byte) bool {
	comment := false
	for i, c := range string(text) {
		switch {
		case c == '\n':
			comment = false
		case comment || c == ' ' || c == '\t' || c == '\r' || i == 0 && c == '\ufeff':
		case c == '#':
			comment = true
		default:
			return false
		}
	}
	return true
}
