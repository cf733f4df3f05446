package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a file. Line and Col count from 1; Line 0 means the
// value has a home (a table and column, a flag) but no line.
type Position struct {
	File string
	Line int
	Col  int
}

func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Problem is one thing that is wrong with a source, told so that it can be found and
// fixed.
type Problem struct {
	File    string
	Line    int
	Col     int
	Path    string // the key, empty for the text as a whole
	Code    string // which check found it, see Codes
	Message string
	Hint    string
}

func (p Problem) String() string {
	parts := []string{Position{p.File, p.Line, p.Col}.String(), p.Path, p.Code, p.Message}
	text := strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// Problems is every problem found. It is an error when it is not empty; hand it
// on with Err, never as a plain value.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns all problems as one error, or nil if there is none.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// sortProblems puts problems in reading order and drops repetitions, which come from
// checking the same value for several operations.
func (p Problems) sortProblems() Problems {
	out := slices.Clone(p)
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(out)
}

// problemAt takes the code of a problem from the start of its message, where
// sections' own checks write it too. Of several the last is the most exact. A
// hint that lists nothing says so.
func problemAt(at Position, path, message, hint string) Problem {
	p := Problem{File: at.File, Line: at.Line, Col: at.Col, Path: path, Message: message, Hint: hint}
	for {
		code, rest, ok := strings.Cut(p.Message, ": ")
		if !ok || !isCode(code) {
			break
		}
		p.Code, p.Message = code, rest
	}
	p.Message = withoutTemplate(path, p.Code, p.Message)
	if what, empty := strings.CutSuffix(hint, ": "); empty {
		p.Hint = "there are no " + what
	}
	return p
}

func isCode(text string) bool {
	return strings.HasPrefix(text, "E-") && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == ""
}
