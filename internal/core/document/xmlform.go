package document

import (
	"slices"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// textMember is the name under which an element has its text.
const textMember = "#text"

// form says how the elements along the paths must be written: as a list though
// there is one, as an object though it is plain. It is one state of an automaton
// that follows the names from the root; an element may be in several.
type form struct {
	names  map[string]*form
	any    *form // every child
	deep   *form // also applies here, and again to every child
	always bool  // is such a deep form
	list   bool
	text   bool // has a "#text" in any case
	item   bool // may be one of the items
}

// addPath follows segments from f. named says that f was reached by its name, so
// that a selector of elements makes it a list. end is called for what the path
// ends in, if it is not nil.
func (f *form) addPath(segments []*spec.Segment, named bool, end func(*form)) {
	if len(segments) == 0 {
		if end != nil {
			end(f)
		}
		return
	}
	segment, rest := segments[0], segments[1:]
	from := f
	if segment.IsDescendant() {
		from, named = f.descendantForm(), false
	}
	for _, selector := range segment.Selectors() {
		switch selector := selector.(type) {
		case spec.Name:
			from.addName(string(selector), rest, end)
		case spec.Index, spec.SliceSelector:
			from.list = from.list || named
			from.addPath(rest, false, end)
		default:
			from.addAll(selector, named, rest, end)
		}
	}
}

func (f *form) addName(name string, rest []*spec.Segment, end func(*form)) {
	switch {
	case name == textMember:
		f.text = true
	case strings.HasPrefix(name, "@"):
	default:
		if f.names == nil {
			f.names = map[string]*form{}
		}
		child := f.names[name]
		if child == nil {
			child = &form{}
			f.names[name] = child
		}
		child.addPath(rest, true, end)
	}
}

// addAll adds a wildcard or a filter.
func (f *form) addAll(selector spec.Selector, named bool, rest []*spec.Segment, end func(*form)) {
	element := f // of the list f
	if named {
		f.list = true
	} else {
		if f.any == nil {
			f.any = &form{}
		}
		element = f.any
	}
	if filter, ok := selector.(*spec.FilterSelector); ok {
		for _, query := range filterQueries(filter.String()) {
			element.addPath(query, false, nil)
		}
	}
	element.addPath(rest, false, end)
}

func (f *form) descendantForm() *form {
	if f.always {
		return f
	}
	if f.deep == nil {
		f.deep = &form{always: true}
	}
	return f.deep
}

// filterQueries returns the paths that start at "@" in the text of a filter. The
// library does not give them out, but writes all their segments in brackets.
func filterQueries(filter string) [][]*spec.Segment {
	var out [][]*spec.Segment
	bare := blankLiterals(filter)
	for at := strings.IndexByte(bare, '@'); at >= 0; {
		end := queryEnd(bare, at+1)
		if query, err := jsonpath.Parse("$" + filter[at+1:end]); err == nil {
			out = append(out, query.Query().Segments())
		}
		next := strings.IndexByte(bare[end:], '@')
		if next < 0 {
			break
		}
		at = end + next
	}
	return out
}

// queryEnd returns where the bracketed segments that start at from end.
func queryEnd(bare string, from int) int {
	depth := 0
	for i := from; i < len(bare); i++ {
		switch c := bare[i]; {
		case c == '[':
			depth++
		case c == ']' && depth > 0:
			depth--
		case depth == 0 && c != '.':
			return i
		}
	}
	return len(bare)
}

// enterStates appends to states those of a child of an element in states[from:to].
func enterStates(states []*form, from, to int, name string) []*form {
	start := len(states)
	for i := from; i < to; i++ {
		f := states[i]
		states = includeState(states, start, f.names[name])
		states = includeState(states, start, f.any)
		if f.always {
			states = includeState(states, start, f)
		}
	}
	return states
}

func includeState(states []*form, start int, f *form) []*form {
	if f == nil || slices.Contains(states[start:], f) {
		return states
	}
	return includeState(append(states, f), start, f.deep)
}
