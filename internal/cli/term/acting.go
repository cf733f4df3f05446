package term

import (
	"cmp"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// Acting are the flags of commands that an operator signs.
type Acting struct {
	Actor, Reason string
	Dry           bool
}

func (a *Acting) Flags(c *cobra.Command) {
	c.Flags().StringVar(&a.Reason, "reason", "", "why; kept in the audit log")
	c.Flags().StringVar(&a.Actor, "actor", "", "who; kept in the audit log (default: the user of this system)")
	c.Flags().BoolVar(&a.Dry, "dry-run", false, "show what would be done and write nothing")
}

func (a Acting) Act() ingest.Act {
	return ingest.Act{Actor: cmp.Or(a.Actor, SystemUser()), Reason: a.Reason, Rehearsal: a.Dry}
}

// HintDryRun says that nothing happened.
func (e *Env) HintDryRun(dry bool) {
	if dry {
		e.Hint("nothing was written: leave out --dry-run to do it")
	}
}

func SystemUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "cli"
}
