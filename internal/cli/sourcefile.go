package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/daemon"
)

// checked is a source file that was read, with all that is wrong with it.
type checked struct {
	File      string    `json:"file"`
	Source    string    `json:"source,omitempty"`
	Endpoints int       `json:"endpoints"`
	Problems  []problem `json:"problems"`

	src *registry.Source
}

type problem struct {
	Line    int    `json:"line,omitempty"`
	Col     int    `json:"col,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func newSourceValidate(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check source files and report every problem with its line",
		Long: `Check source files strictly: unknown keys, wrong types, missing keys, bad
templates and paths, for every endpoint and operation. All problems of all files
are reported at once. Exit code 2 if there are any.`,
		Example: `  patra source validate crossref.yaml
  patra source validate *.yaml -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, problems := checkFiles(args)
			if e.output == "json" {
				if err := e.json(files); err != nil {
					return err
				}
			} else {
				for _, f := range files {
					if len(f.Problems) == 0 {
						fmt.Fprintf(e.out, "%s: ok (source %s, %s)\n", f.File, f.Source, plural(f.Endpoints, "endpoint"))
					}
				}
			}
			return refuse(problems)
		},
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// refuse puts each problem on a line of its own that editors can follow.
func refuse(problems registry.Problems) error {
	if len(problems) == 0 {
		return nil
	}
	return usagef("%s:\n%w", plural(len(problems), "problem"), problems)
}

// checkFiles reads all files before it says anything.
func checkFiles(names []string) ([]checked, registry.Problems) {
	var files []checked
	var all registry.Problems
	owner := map[string]string{}
	for _, name := range names {
		f, problems := checkFile(name)
		if other, taken := owner[f.Source]; taken && f.Source != "" {
			problems = append(problems, registry.Problem{File: name, Path: "source", Message: fmt.Sprintf("source %s is also given by %s", f.Source, other), Hint: "name each source once"})
		} else {
			owner[f.Source] = name
		}
		f.Problems = []problem{}
		for _, p := range problems {
			f.Problems = append(f.Problems, problem{p.Line, p.Col, p.Path, p.Message, p.Hint})
		}
		files = append(files, f)
		all = append(all, problems...)
	}
	return files, all
}

func checkFile(name string) (checked, registry.Problems) {
	f := checked{File: name}
	text, err := os.ReadFile(name)
	if err != nil {
		return f, registry.Problems{{File: name, Message: "cannot be read: " + cause(err)}}
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
	return f, src.Validate()
}

// cause is an error without the path, which stands before it already.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// applied is what became of one file.
type applied struct {
	Source  string `json:"source"`
	File    string `json:"file"`
	Rows    int    `json:"rowsChanged"`
	Outcome string `json:"outcome"` // applied, unchanged or pending (with --dry-run)
}

func newSourceApply(e *env) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "apply FILE…",
		Short: "Write source files into the database",
		Long: `Check all files, then write them into the registry of the database. If one file
has a problem, none is written. Rows that changed are closed and opened anew from
now on; the same file twice changes nothing. Plans that exist keep the settings
they were made with.`,
		Example: `  patra source apply crossref.yaml --dry-run
  patra source apply crossref.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, problems := checkFiles(args)
			if err := refuse(problems); err != nil {
				return err
			}
			rows, err := e.apply(cmd.Context(), files, dry)
			if len(rows) > 0 || err == nil {
				err = errors.Join(list(e, rows, appliedColumns()), err)
			}
			return err
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "show what would change and write nothing")
	return c
}

func appliedColumns() columns[applied] {
	return columns[applied]{[]string{"source", "rows", "outcome", "file"}, func(a applied) []any { return []any{a.Source, a.Rows, a.Outcome, a.File} }}
}

func (e *env) apply(ctx context.Context, files []checked, dry bool) ([]applied, error) {
	var done []applied
	if dry {
		err := e.registry(ctx, func(app *daemon.App) (err error) {
			done, err = applyEach(files, "pending", func(src *registry.Source) (int, error) { return pendingRows(ctx, app, src) })
			return err
		})
		return done, err
	}
	app, err := e.open(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer app.Close()
	return applyEach(files, "applied", func(src *registry.Source) (int, error) { return app.Store.ApplySource(ctx, src) })
}

// applyEach tells what was done also when a later file fails.
func applyEach(files []checked, changed string, apply func(*registry.Source) (int, error)) (done []applied, err error) {
	for _, f := range files {
		row := applied{Source: f.Source, File: f.File, Outcome: "unchanged"}
		if row.Rows, err = apply(f.src); err != nil {
			return done, fmt.Errorf("%s: %w", f.File, err)
		}
		if row.Rows > 0 {
			row.Outcome = changed
		}
		done = append(done, row)
	}
	return done, nil
}

// pendingRows counts what ApplySource would: rows to close and rows to open; the
// row of the source itself is changed in place.
func pendingRows(ctx context.Context, app *daemon.App, src *registry.Source) (int, error) {
	wanted := registry.Rows(src)
	if app == nil {
		return len(wanted), nil
	}
	stored, ok, err := app.Store.LoadSource(ctx, src.Code)
	if err != nil {
		return 0, err
	}
	if !ok {
		return len(wanted), nil
	}
	held := registry.Rows(stored)
	closing := slices.DeleteFunc(slices.Clone(held), func(r registry.Row) bool { return r.Table == "reg_provenance" })
	return absent(wanted, held) + absent(closing, wanted), nil
}

// absent counts rows of one list that the other does not have.
func absent(rows, other []registry.Row) int {
	n := 0
	for _, row := range rows {
		if !slices.ContainsFunc(other, func(o registry.Row) bool { return reflect.DeepEqual(o, row) }) {
			n++
		}
	}
	return n
}
