package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/daemon"
)

// keeping are the flags that say what becomes of the whole answer of a trial.
type keeping struct {
	body bool
	file string
}

// ofDetails is what the name of the second step's file ends with.
const ofDetails = ".details"

func (k *keeping) flags(c *cobra.Command) {
	c.Flags().BoolVar(&k.body, "body", false, "print the whole answer, without secrets and personal data")
	c.Flags().StringVar(&k.file, "save", "", "write the whole answer into this new file, without secrets and personal data")
}

func (k keeping) wanted() bool { return k.body || k.file != "" }

// check refuses a file that is there before anything is asked for.
func (k keeping) check() error {
	for _, name := range []string{k.file, k.file + ofDetails} {
		if k.file == "" {
			break
		}
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return term.WithCode(term.ExitConflict, fmt.Errorf("%s exists already and was not touched, and nothing was asked for: name another file with --save", name))
		}
	}
	return nil
}

// save writes the answers, each into its own file.
func (k keeping) save(e *term.Env, r *daemon.TrialResult) error {
	name := k.file
	for step := r; step != nil && name != ""; step, name = step.Detail, k.file+ofDetails {
		if step.Body == "" {
			e.Hint("%s: there is no answer to save", step.Endpoint)
			continue
		}
		if err := writeNew(name, step.Body); err != nil {
			return err
		}
		e.Hint("%s: the answer is in %s", step.Endpoint, name)
	}
	return nil
}

// hideBodies leaves answers out of what is shown that nobody asked to see.
func hideBodies(r *daemon.TrialResult) {
	for step := r; step != nil; step = step.Detail {
		step.Body = ""
	}
}
