package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/registry"
)

// Skeleton is the file to start from, of a source called example.
var Skeleton = registry.Skeleton

// Created is the file that was written.
type Created struct {
	Source string `json:"source"`
	File   string `json:"file"`
}

func newSourceNew(e *term.Env) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a commented source file to start from",
		Long: `Write a source file to start from: a source that answers in JSON, is asked by date
and pages by token, with comments that say what to change and in which order. It
is valid as it stands. An existing file is not touched.`,
		Example: `  patra source new mine
  patra source new mine --file sources/mine.yaml
  patra source new mine --file -`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if err := checkName(name); err != nil {
				return err
			}
			if slices.Contains(catalog.List(), name) {
				e.Hint("%s comes with the program; `patra source export %s` gives its file", name, name)
			}
			if file == "" {
				file = name + ".yaml"
			}
			return writeSkeleton(e, name, file)
		},
	}
	c.Flags().StringVar(&file, "file", "", "where to write it; - is stdout (default NAME.yaml)")
	return c
}

// checkName asks the decoder, which knows what a code may look like.
func checkName(name string) error {
	_, _, err := registry.Decode("NAME", []byte("source: "+strconv.Quote(name)))
	var problems registry.Problems
	errors.As(err, &problems)
	for _, p := range problems {
		if p.Path == "source" || p.Code == "E-SYNTAX" {
			return term.Usagef("NAME %q: %s (%s)", name, p.Message, p.Hint)
		}
	}
	return nil
}

func writeSkeleton(e *term.Env, name, file string) error {
	text := SkeletonFor(name, file)
	if file == "-" {
		_, err := e.Out.Write([]byte(text))
		return err
	}
	if err := writeNew(file, text); err != nil {
		return err
	}
	if e.Output == "json" {
		return e.JSON(Created{name, file})
	}
	fmt.Fprintf(e.Out, "wrote %s\n", file)
	e.Hint("change it step by step, and try: patra source validate %s, patra source test %s, patra source apply %s", file, file, file)
	return nil
}

// SkeletonFor is a file to start from.
func SkeletonFor(name, file string) string {
	if file == "-" {
		file = name + ".yaml"
	}
	return registry.SkeletonFor(name, file)
}

// writeNew never writes over a file.
func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return term.WithCode(term.ExitConflict, fmt.Errorf("%s exists already and was not touched: name another file with --file", name))
	}
	if err != nil {
		return fmt.Errorf("write %s: %s", name, term.PathCause(err))
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
