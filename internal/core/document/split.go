package document

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/theory/jsonpath/spec"
)

// Splitter finds the parts of an item: the values that a path of names and wildcards leads to, such as
// $.menus[*].routes[*]. It differs from an items path in that every step must be there: a name that
// is not may have become another name, and its parts would be missing without a word.
type Splitter struct {
	path  Path
	steps []splitStep
}

// splitStep is one segment: a name, or every element or member.
type splitStep struct {
	name string
	all  bool
}

// ErrNoStep says that a step of the path is not in the item.
var ErrNoStep = errors.New("not there")

// NewSplitter prepares the path of parts.
func NewSplitter(path Path) (*Splitter, error) {
	s := &Splitter{path: path}
	for _, segment := range path.listSegments() {
		switch {
		case isWildcard(segment):
			s.steps = append(s.steps, splitStep{all: true})
		case isName(segment):
			s.steps = append(s.steps, splitStep{name: string(segment.Selectors()[0].(spec.Name))})
		default:
			return nil, fmt.Errorf("%s: a path of parts has names and [*] only, because what any other step leaves out is counted nowhere", path)
		}
	}
	if n := len(s.steps); n == 0 || !s.steps[n-1].all {
		return nil, fmt.Errorf("%s: the path of parts must end in [*], which is each of them", path)
	}
	return s, nil
}

// Split gives out the parts of an item in their order, each with where it begins and, if it is a
// member of an object, its name. A null on the way has no parts. It fails with ErrNoStep if a name is not
// there or leads to something that has no parts; what was given out before counts for nothing then.
func (s *Splitter) Split(item []byte, take func(part []byte, at int, key *string) error) error {
	return s.descend(item, 0, 0, nil, take)
}

func (s *Splitter) descend(value []byte, at, done int, key *string, take func([]byte, int, *string) error) error {
	if done == len(s.steps) {
		return take(value, at, key)
	}
	step := s.steps[done]
	switch kind := value[0]; {
	case kind == 'n':
		return nil
	case kind == '{', kind == '[' && step.all:
	default:
		return fmt.Errorf("%w: %s stands where %s of %s should lead on", ErrNoStep, Value{raw: value}.Kind(), step, s.path)
	}
	found := false
	err := eachChild(value, func(child []byte, from int, name *string) error {
		if !step.all && (name == nil || *name != step.name) {
			return nil
		}
		found = true
		return s.descend(child, at+from, done+1, name, take)
	})
	if err == nil && !found && !step.all {
		return fmt.Errorf("%w: nothing is named %q, which %s leads through", ErrNoStep, step.name, s.path)
	}
	return err
}

func (s splitStep) String() string {
	if s.all {
		return "[*]"
	}
	return fmt.Sprintf("%q", s.name)
}

// eachChild gives out the members of an object or the elements of an array, with where each begins.
func eachChild(value []byte, take func(child []byte, at int, name *string) error) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(value))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for kind := dec.PeekKind(); kind != '}' && kind != ']'; kind = dec.PeekKind() {
		var name *string
		if value[0] == '{' {
			quoted, err := dec.ReadValue()
			if err != nil {
				return err
			}
			text, _ := unquoteName(quoted)
			name = &text
		}
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		end := int(dec.InputOffset())
		begin := end - len(raw)
		if err := take(value[begin:end:end], begin, name); err != nil {
			return err
		}
	}
	return nil
}

// ReadValues reads the page values of a text of JSON that begins at a byte of its body. It is for
// texts that were read before as parts of a body, or made of such parts.
func (r *Reader) ReadValues(text []byte, base int64) ([]Value, error) {
	for _, swift := range []bool{true, false} {
		s := r.newScan(Limits{MaxDepth: maxConvertedDepth}.withDefaults(), false)
		s.swift = swift
		c := s.newCursor(text, base)
		_, err := c.readValue(r.page, target{values: s.page.Values})
		if err == nil {
			err = c.atEnd()
		}
		if err == nil {
			return s.page.Values, nil
		}
		if !swift {
			return nil, c.syntaxError(err)
		}
	}
	return nil, nil
}

// Below returns the path that starts where this one ends.
func (p Path) Below(other Path) Path {
	segments := p.listSegments()
	return pathOf(append(segments[:len(segments):len(segments)], other.listSegments()...))
}
