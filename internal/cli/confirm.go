package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// agreeing are the flags of acts that are shown before they are done.
type agreeing struct {
	acting
	yes bool
}

func (a *agreeing) flags(c *cobra.Command) {
	a.acting.flags(c)
	c.Flags().BoolVar(&a.yes, "yes", false, "do it without asking")
}

// signed refuses an act nobody could explain later. To look needs no reason.
func (a agreeing) signed() error {
	if a.reason == "" && !a.dry {
		return usagef("--reason is needed: whoever finds this later will ask for it")
	}
	return nil
}

// agree does an act in two steps: it is rehearsed and shown, then done if somebody
// agrees. Where nobody can be asked, --yes has to say so.
func agree[T any](e *env, a agreeing, do func(dry bool) (T, error), changes func(T) bool, show func(T) error) error {
	preview, err := do(true)
	if err != nil {
		return err
	}
	if a.dry || !changes(preview) || !a.yes || e.output == "table" {
		if err := show(preview); err != nil {
			return err
		}
	}
	switch {
	case a.dry:
		e.afterDry(true)
		return nil
	case !changes(preview):
		e.hint("nothing was changed")
		return nil
	}
	if err := e.confirmed(a.yes); err != nil {
		return err
	}
	done, err := do(false)
	if err != nil || e.output == "table" {
		return err
	}
	if !a.yes {
		return nil // the preview is on stdout already
	}
	return show(done)
}

// canRead reports whether a person can answer: stdin is a terminal.
func canRead() bool { return term.IsTerminal(int(os.Stdin.Fd())) }

// confirmed asks on a terminal. Anything but yes leaves all as it is.
func (e *env) confirmed(yes bool) error {
	if yes {
		return nil
	}
	if !canRead() {
		return usagef("nothing was changed: add --yes to do it, or --dry-run to only look")
	}
	fmt.Fprint(e.err, "Do it? [y/N] ")
	answer, _ := bufio.NewReader(os.Stdin).ReadString('\n') // the end of the input is a no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return usagef("nothing was changed")
}
