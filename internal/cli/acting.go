package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// acting are the flags of commands that an operator signs.
type acting struct {
	actor, reason string
	dry           bool
}

func (a *acting) flags(c *cobra.Command) {
	c.Flags().StringVar(&a.reason, "reason", "", "why; kept in the audit log")
	c.Flags().StringVar(&a.actor, "actor", "", "who; kept in the audit log (default: the user of this system)")
	c.Flags().BoolVar(&a.dry, "dry-run", false, "show what would be done and write nothing")
}

func (a acting) act() ingest.Act {
	return ingest.Act{Actor: cmp.Or(a.actor, systemUser()), Reason: a.reason, Rehearsal: a.dry}
}

// afterDry says that nothing happened.
func (e *env) afterDry(dry bool) {
	if dry {
		e.hint("nothing was written: leave out --dry-run to do it")
	}
}
