package source

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

func newSourceValidate(e *term.Env) *cobra.Command {
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
			files, problems := subject.CheckFiles(args)
			for _, f := range files {
				subject.WarnOfFile(e, f)
			}
			if e.Output == "json" {
				if err := e.JSON(view.Whole(files)); err != nil {
					return err
				}
			} else {
				for _, f := range files {
					if len(f.Problems) == 0 {
						fmt.Fprintf(e.Out, "%s: ok (source %s, %s)\n", f.File, f.Source, wording.Count(f.Endpoints, "endpoint"))
					}
				}
			}
			return subject.ProblemsError(problems)
		},
	}
}
