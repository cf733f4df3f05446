package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/registry"
)

//go:embed skeleton.yaml
var skeleton string

// created is the file that was written.
type created struct {
	Source string `json:"source"`
	File   string `json:"file"`
}

func newSourceNew(e *env) *cobra.Command {
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
				e.hint("%s comes with the program; `patra source export %s` gives its file", name, name)
			}
			if file == "" {
				file = name + ".yaml"
			}
			return e.writeSkeleton(name, file)
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
			return usagef("NAME %q: %s (%s)", name, p.Message, p.Hint)
		}
	}
	return nil
}

func (e *env) writeSkeleton(name, file string) error {
	text := skeletonFor(name, file)
	if file == "-" {
		_, err := e.out.Write([]byte(text))
		return err
	}
	if err := writeNew(file, text); err != nil {
		return err
	}
	if e.output == "json" {
		return e.json(created{name, file})
	}
	fmt.Fprintf(e.out, "wrote %s\n", file)
	e.hint("change it step by step, and try: patra source validate %s, patra source test %s, patra source apply %s", file, file, file)
	return nil
}

func skeletonFor(name, file string) string {
	if file == "-" {
		file = name + ".yaml"
	}
	return strings.NewReplacer(
		"example.yaml", file, "patra harvest example", "patra harvest "+name,
		"source: example", "source: "+bare(name), "name: Example", "name: "+bare(name), "# Example:", "# "+name+":", "EXAMPLE_API_KEY", variable(name)+"_API_KEY",
	).Replace(skeleton)
}

// bare quotes what YAML would not read as text.
func bare(name string) string {
	if slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}, name) {
		return strconv.Quote(name)
	}
	return name
}

// variable is a name as environment variables are written.
func variable(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

// writeNew never writes over a file.
func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return withCode(exitConflict, fmt.Errorf("%s exists already and was not touched: name another file with --file", name))
	}
	if err != nil {
		return fmt.Errorf("write %s: %s", name, cause(err))
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
