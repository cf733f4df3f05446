package subject

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// ProblemsError puts each problem on a line of its own that editors can follow.
func ProblemsError(problems registry.Problems) error {
	if len(problems) == 0 {
		return nil
	}
	return term.Usagef("%s:\n%w", wording.Count(len(problems), "problem"), problems)
}

// CheckFiles reads all files before it says anything.
func CheckFiles(names []string) ([]view.CheckedFile, registry.Problems) {
	var files []view.CheckedFile
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
		daemon.NoteProblems(&f, problems)
		files = append(files, f)
		all = append(all, problems...)
	}
	return files, all
}

func CheckFile(name string) (view.CheckedFile, registry.Problems) {
	text, err := term.ReadSmallFile(name)
	if err != nil {
		return view.CheckedFile{File: name}, registry.Problems{{File: name, Code: "E-FILE", Message: "cannot be read: " + term.PathCause(err)}}
	}
	return daemon.ReadSourceFile(name, text)
}
