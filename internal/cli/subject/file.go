package subject

import (
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// CheckedFile is a source file that was read, with all that is wrong with it.
type CheckedFile struct {
	File      string    `json:"file"`
	Source    string    `json:"source,omitempty"`
	Endpoints int       `json:"endpoints"`
	Problems  []Problem `json:"problems"`
	Warnings  []Warning `json:"warnings"`

	Parsed *registry.Source `json:"-"`
}

type Problem struct {
	Line    int    `json:"line,omitempty"`
	Col     int    `json:"col,omitempty"`
	Path    string `json:"path,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// NewProblem returns a problem of a source file as programs get it.
func NewProblem(p registry.Problem) Problem {
	return Problem{p.Line, p.Col, p.Path, p.Code, p.Message, p.Hint}
}

// ProblemsError puts each problem on a line of its own that editors can follow.
func ProblemsError(problems registry.Problems) error {
	if len(problems) == 0 {
		return nil
	}
	return term.Usagef("%s:\n%w", wording.Count(len(problems), "problem"), problems)
}

// CheckFiles reads all files before it says anything.
func CheckFiles(names []string) ([]CheckedFile, registry.Problems) {
	var files []CheckedFile
	var all registry.Problems
	owner := map[string]string{}
	for _, name := range names {
		f, problems := CheckFile(name)
		if other, taken := owner[f.Source]; taken && f.Source != "" {
			problems = append(problems, registry.Problem{
				File: name, Path: "source", Code: "E-SOURCE-TWICE", Message: fmt.Sprintf("source %s is also given by %s", f.Source, other), Hint: "name each source once",
			})
		} else {
			owner[f.Source] = name
		}
		f.Problems, f.Warnings = []Problem{}, []Warning{}
		if len(problems) == 0 {
			f.Warnings = warningsOf(f.Parsed)
		}
		for _, p := range problems {
			f.Problems = append(f.Problems, NewProblem(p))
		}
		files = append(files, f)
		all = append(all, problems...)
	}
	return files, all
}

func CheckFile(name string) (CheckedFile, registry.Problems) {
	f := CheckedFile{File: name}
	text, err := term.ReadSmallFile(name)
	if err != nil {
		return f, registry.Problems{{File: name, Code: "E-FILE", Message: "cannot be read: " + term.PathCause(err)}}
	}
	src, _, err := registry.Decode(name, text)
	if err != nil {
		var problems registry.Problems
		if errors.As(err, &problems) {
			return f, problems
		}
		return f, registry.Problems{{File: name, Message: err.Error()}}
	}
	f.Parsed, f.Source, f.Endpoints = src, src.Code, len(src.Endpoints)
	return f, append(src.Validate(), src.GroupsLikeSources(catalog.List())...)
}
