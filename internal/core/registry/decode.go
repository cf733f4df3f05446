package registry

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"unicode/utf8"
)

// Origins tells where each key of a source stands: values where the value
// starts, sections where their key starts.
type Origins map[string]Position

// Decode reads a source file strictly. The error, if any, is Problems: all of
// them, in reading order. What sections need is checked by Source.Validate,
// after the merge.
func Decode(file string, text []byte) (*Source, Origins, error) {
	root, problems := parseYAML(file, text)
	if problems != nil {
		for i := range problems {
			problems[i].Code = "E-SYNTAX"
		}
		return nil, nil, problems
	}
	return decodeNode(root)
}

func decodeNode(root *node) (*Source, Origins, error) {
	b := newBinder()
	b.places[""] = root.at
	b.bindNode(root, sourceShape(), nil)
	checkNames(b)
	if len(b.problems) > 0 {
		return nil, nil, b.problems.sortProblems()
	}
	return sourceOf(b.leaves, b.places), b.places, nil
}

// Reading the types takes milliseconds; they do not change while the program runs.
var sourceShape = sync.OnceValue(func() *shape { return shapeOf(reflect.TypeFor[Source](), nil) })

func sourceOf(leaves leafSet, places Origins) *Source {
	src := &Source{given: leaves, places: places}
	assembleValue(sourceShape(), reflect.ValueOf(src).Elem(), leaves.sortLeaves(), 0)
	return src
}

// Codes become keys, columns and file names.
var (
	sourceCode   = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
	endpointName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
)

const maxNameRunes = 128

// reservedCodes would be taken for verbs, as in `patra plan list`.
var reservedCodes = []string{"list", "show", "cancel", "help"}

func checkNames(b *binder) {
	if code, ok := b.leaves["source"]; ok && !sourceCode.MatchString(code.Value.(string)) {
		b.reportProblem(code.At, "source", fmt.Sprintf("E-NAME: %q is not a source code", shortenText(code.Value.(string))),
			"a lower-case letter, then up to 63 of a-z 0-9 _ -")
	}
	if code, ok := b.leaves["source"]; ok && slices.Contains(reservedCodes, code.Value.(string)) {
		b.reportProblem(code.At, "source", fmt.Sprintf("E-NAME: %q is a word of the command line", code.Value), "choose another code")
	}
	if name, ok := b.leaves["name"]; ok {
		if n := utf8.RuneCountInString(name.Value.(string)); n == 0 || n > maxNameRunes {
			b.reportProblem(name.At, "name", fmt.Sprintf("E-NAME: has %d characters", n), fmt.Sprintf("1 to %d", maxNameRunes))
		}
	}
	endpoints := map[string]bool{}
	for _, l := range b.leaves.sortLeaves() {
		if l.Path[0] == "endpoints" && !endpoints[l.Path[1]] {
			endpoints[l.Path[1]] = true
			if path := l.Path[:2]; !endpointName.MatchString(path[1]) {
				b.reportProblem(b.places[path.String()], path.String(), fmt.Sprintf("E-NAME: %q is not an endpoint name", shortenText(path[1])),
					"a letter, then up to 63 of A-Z a-z 0-9 _ -")
			}
		}
	}
	if at, ok := b.places["endpoints"]; ok && len(endpoints) == 0 && len(b.problems) == 0 {
		b.reportProblem(at, "endpoints", "E-REQUIRED: there is no endpoint", "a source needs at least one")
	}
}

// allLeaves returns what src says now. Its typed fields rule, so that code may
// change them; what was decoded adds what they cannot hold: origins, and zero
// values that were written out (allowHttp: false below a level that says true).
func (s *Source) allLeaves() leafSet {
	root := sourceShape()
	v := reflect.ValueOf(s).Elem()
	out := make(leafSet, len(s.given))
	flattenValue(root, v, nil, out)
	for key, given := range s.given {
		now, ok := out[key]
		switch {
		case ok && reflect.DeepEqual(now.Value, given.Value):
			out[key] = given
		case !ok && isZero(given.Value) && holdsPath(root, v, given.Path):
			out[key] = given
		}
	}
	return out
}

func isZero(value any) bool {
	v := reflect.ValueOf(value)
	return v.Kind() != reflect.Slice && v.IsZero()
}
