package term

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Confirming are the flags of acts that are shown before they are done.
type Confirming struct {
	Acting
	Yes bool
}

func (a *Confirming) Flags(c *cobra.Command) {
	a.Acting.Flags(c)
	c.Flags().BoolVar(&a.Yes, "yes", false, "do it without asking")
}

// CheckReason refuses an act nobody could explain later. To look needs no reason.
func (a Confirming) CheckReason() error {
	if a.Reason == "" && !a.Dry {
		return Usagef("--reason is needed: whoever finds this later will ask for it")
	}
	return nil
}

// RehearseAndDo does an act in two steps: it is rehearsed and shown, then done if somebody
// agrees. Where nobody can be asked, --yes has to say so.
func RehearseAndDo[T any](e *Env, a Confirming, do func(dry bool) (T, error), changes func(T) bool, show func(T) error) error {
	preview, err := do(true)
	if err != nil {
		return err
	}
	if a.Dry || !changes(preview) || !a.Yes || e.Output == "table" {
		if err := show(preview); err != nil {
			return err
		}
	}
	switch {
	case a.Dry:
		e.HintDryRun(true)
		return nil
	case !changes(preview):
		e.Hint("nothing was changed")
		return nil
	}
	if err := e.confirm(a.Yes); err != nil {
		return err
	}
	done, err := do(false)
	if err != nil || e.Output == "table" {
		return err
	}
	if !a.Yes {
		return nil // the preview is on stdout already
	}
	return show(done)
}

// CanAsk reports whether a person can answer: stdin is a terminal.
func CanAsk() bool { return term.IsTerminal(int(os.Stdin.Fd())) }

// confirm asks on a terminal. Anything but yes leaves all as it is.
func (e *Env) confirm(yes bool) error {
	if yes {
		return nil
	}
	if !CanAsk() {
		return Usagef("nothing was changed: add --yes to do it, or --dry-run to only look")
	}
	fmt.Fprint(e.Err, "Do it? [y/N] ")
	answer, _ := bufio.NewReader(os.Stdin).ReadString('\n') // the end of the input is a no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return Usagef("nothing was changed")
}
