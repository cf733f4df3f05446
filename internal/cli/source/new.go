package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

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
	var file, like string
	var r repository
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a commented source file to start from",
		Long: `Write a source file to start from: a source that answers in JSON, is asked by date
and pages by token, with comments that say what to change and in which order. It
is valid as it stands. An existing file is not touched.

--like starts from another form: crossref (a cursor and a filter), oai,
two-step (a search for ids, then whole records), post (a JSON body), link (the Link
header names the next page), oauth (tokens by client credentials), snapshot (a list
without dates, read whole every time), file (records that lie in large files).

--oai ADDRESS asks an OAI-PMH repository about itself (Identify,
ListMetadataFormats, ListSets), writes the file and asks for one page with it.
Details that the repository gives in no usable form are named and left out. As with
patra source test, plain http and private addresses need a flag. --by-set writes the
sets as partitions: each is asked for separately, and records in no set are not read.`,
		Example: `  patra source new mine
  patra source new mine --file sources/mine.yaml
  patra source new mine --file -
  patra source new mine --like two-step
  patra source new mine --oai https://repository.example.org/oai/request
  patra source new mine --oai https://repository.example.org/oai/request --by-set`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			if err := errors.Join(checkName(name), r.check()); err != nil {
				return err
			}
			if like != "" && r.address != "" {
				return term.Usagef("--like and --oai: name one of them")
			}
			if slices.Contains(catalog.List(), name) {
				e.Hint("%s comes with the program; `patra source export %s` gives its file", name, name)
			}
			if file == "" {
				file = name + ".yaml"
			}
			if r.address != "" {
				return newFromRepository(cmd.Context(), e, name, file, r)
			}
			return writeSkeleton(e, name, file, like)
		},
	}
	c.Flags().StringVar(&file, "file", "", "where to write it; - is stdout (default NAME.yaml)")
	c.Flags().StringVar(&like, "like", "", "form to start from: "+strings.Join(registry.SkeletonForms(), ", "))
	r.flags(c)
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

func writeSkeleton(e *term.Env, name, file, like string) error {
	if like != "" && !slices.Contains(registry.SkeletonForms(), like) {
		return term.Usagef("--like %s: there is no such form; there are %s", like, strings.Join(registry.SkeletonForms(), ", "))
	}
	text := SkeletonLike(like, name, file)
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

// SkeletonLike is a file to start from, of a form.
func SkeletonLike(like, name, file string) string {
	if file == "-" {
		file = name + ".yaml"
	}
	return registry.SkeletonLike(like, name, file)
}

// existsAlready says that nothing was written over a file.
func existsAlready(name string) error {
	return term.WithCode(term.ExitConflict, fmt.Errorf("%s exists already and was not touched: name another file with --file", name))
}

// writeNew never writes over a file.
func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return existsAlready(name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %s", name, term.PathCause(err))
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
