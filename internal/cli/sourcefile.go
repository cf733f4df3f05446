package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
)

// checked is a source file that was read, with all that is wrong with it.
type checked struct {
	File      string    `json:"file"`
	Source    string    `json:"source,omitempty"`
	Endpoints int       `json:"endpoints"`
	Problems  []problem `json:"problems"`
	Warnings  []warned  `json:"warnings"`

	src *registry.Source `json:"-"`
}

type problem struct {
	Line    int    `json:"line,omitempty"`
	Col     int    `json:"col,omitempty"`
	Path    string `json:"path,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func newSourceValidate(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check source files and report every problem with its line",
		Long: `Check source files strictly: unknown keys, wrong types, missing keys, bad
templates and paths, sections that do not fit one another, for every endpoint and
operation. All problems of all files are reported at once, each with its place, its
key and the code of the check that found it. Exit code 2 if there are any.

Two codes are about files rather than about what is in them: E-FILE, a file cannot
be read, and E-SOURCE-TWICE, a source is given by two of the files.

What a good source cannot do, and what is done instead, is a warning with a code
that begins with W-. It is told once for each endpoint, with the operations it
concerns, and does not change the exit code.`,
		Example: `  patra source validate crossref.yaml
  patra source validate *.yaml -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, problems := checkFiles(args)
			for _, f := range files {
				e.warnOf(f)
			}
			if e.output == "json" {
				if err := e.json(view.Whole(files)); err != nil {
					return err
				}
			} else {
				for _, f := range files {
					if len(f.Problems) == 0 {
						fmt.Fprintf(e.out, "%s: ok (source %s, %s)\n", f.File, f.Source, counted(f.Endpoints, "endpoint"))
					}
				}
			}
			return refuse(problems)
		},
	}
}

// refuse puts each problem on a line of its own that editors can follow.
func refuse(problems registry.Problems) error {
	if len(problems) == 0 {
		return nil
	}
	return usagef("%s:\n%w", counted(len(problems), "problem"), problems)
}

// checkFiles reads all files before it says anything.
func checkFiles(names []string) ([]checked, registry.Problems) {
	var files []checked
	var all registry.Problems
	owner := map[string]string{}
	for _, name := range names {
		f, problems := checkFile(name)
		if other, taken := owner[f.Source]; taken && f.Source != "" {
			problems = append(problems, registry.Problem{
				File: name, Path: "source", Code: "E-SOURCE-TWICE", Message: fmt.Sprintf("source %s is also given by %s", f.Source, other), Hint: "name each source once",
			})
		} else {
			owner[f.Source] = name
		}
		f.Problems, f.Warnings = []problem{}, []warned{}
		if len(problems) == 0 {
			f.Warnings = warningsOf(f.src)
		}
		for _, p := range problems {
			f.Problems = append(f.Problems, problem{p.Line, p.Col, p.Path, p.Code, p.Message, p.Hint})
		}
		files = append(files, f)
		all = append(all, problems...)
	}
	return files, all
}

func checkFile(name string) (checked, registry.Problems) {
	f := checked{File: name}
	text, err := readSmallFile(name)
	if err != nil {
		return f, registry.Problems{{File: name, Code: "E-FILE", Message: "cannot be read: " + cause(err)}}
	}
	src, _, err := registry.Decode(name, text)
	if err != nil {
		var problems registry.Problems
		if errors.As(err, &problems) {
			return f, problems
		}
		return f, registry.Problems{{File: name, Message: err.Error()}}
	}
	f.src, f.Source, f.Endpoints = src, src.Code, len(src.Endpoints)
	return f, append(src.Validate(), src.GroupsLikeSources(catalog.List())...)
}

// cause is an error without the path, which stands before it already.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
